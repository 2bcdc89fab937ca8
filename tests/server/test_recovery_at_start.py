"""After a kill a broker recovers all its partitions before it serves, with their syncs side by side."""

import shutil
import threading
from pathlib import Path

from penstock.storage.files import RealFileSystem
from tests.server.live import batch, running_broker, values_in

PARTITIONS = 4


class Rendezvous(RealFileSystem):
    """Syncs of a topic's directories end when all of them have begun."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._all_begun = threading.Barrier(PARTITIONS, timeout=60)
        self.synced: set[str] = set()

    def sync_dir(self, path: str) -> None:
        if self._topic in path and len(self.synced) < PARTITIONS:
            self._all_begun.wait()
            self.synced.add(path)
        super().sync_dir(path)


async def test_partitions_are_made_durable_side_by_side(tmp_path: Path) -> None:
    running, killed = tmp_path / "running", tmp_path / "killed"
    async with running_broker(running) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            await client.produce(topic, batch(b"%d" % partition), partition=partition)
        shutil.copytree(running, killed)
    files = Rendezvous(topic.name)
    async with running_broker(killed, files=files) as live:
        assert files.synced == {str(killed / f"{topic.name}-{number}") for number in range(PARTITIONS)}
        client = await live.connect()
        for partition in range(PARTITIONS):
            found = await client.fetch(topic, 0, partition=partition)
            assert (values_in(found), found.high_watermark) == ([b"%d" % partition], 1)
