"""After a kill a broker recovers its partitions before it serves: with one sync of the file system, or side by side."""

import asyncio
import contextlib
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cluster.lifecycle import Lifecycle
from penstock.config.broker import BrokerConfig
from penstock.server.broker import Broker
from penstock.server.ports import real_ports
from penstock.storage.files import RealFileSystem, Volume
from penstock.storage.journal.reading import FoundJournal, read_journal
from tests.server.live import Live, TopicHandle, batch, running_broker, values_in

PARTITIONS = 4


class Rendezvous(RealFileSystem):
    """Syncs of a topic's directories end when all of them have begun."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._all_begun = threading.Barrier(PARTITIONS, timeout=60)
        self.synced: set[str] = set()

    def open_volume(self, directory: str) -> Volume | None:
        return None

    def sync_dir(self, path: str) -> None:
        if self._topic in path and len(self.synced) < PARTITIONS:
            self._all_begun.wait()
            self.synced.add(path)
        super().sync_dir(path)


async def test_recovered_partitions_are_synced_concurrently(tmp_path: Path) -> None:
    running, killed = tmp_path / "running", tmp_path / "killed"
    async with running_broker(running) as live:
        client = await live.connect()
        topic = await client.create_topic(partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            await client.produce(topic, batch(b"%d" % partition), partition=partition)
        shutil.copytree(running, killed, ignore=shutil.ignore_patterns(".journal.*"))
    files = Rendezvous(topic.name)
    async with running_broker(killed, files=files) as live:
        assert files.synced == {str(killed / f"{topic.name}-{number}") for number in range(PARTITIONS)}
        client = await live.connect()
        for partition in range(PARTITIONS):
            found = await client.fetch(topic, 0, partition=partition)
            assert (values_in(found), found.high_watermark) == ([b"%d" % partition], 1)


class HeldVolume:
    def __init__(self, volume: Volume, hold: Callable[[], None]) -> None:
        self.holds, self.close = volume.holds, volume.close
        self._volume = volume
        self._hold = hold

    def sync(self) -> None:
        self._hold()
        self._volume.sync()


class Held(RealFileSystem):
    """Syncs of the whole file system, or of a topic's directories where that cannot be, wait to be let go."""

    def __init__(self, topic: str, *, can_sync_all: bool) -> None:
        self._topic = topic
        self._can_sync_all = can_sync_all
        self.has_begun = threading.Event()
        self.let_go = threading.Event()

    def open_volume(self, directory: str) -> Volume | None:
        volume = super().open_volume(directory) if self._can_sync_all else None
        self._can_sync_all = volume is not None
        return volume and HeldVolume(volume, self._hold)

    def sync_dir(self, path: str) -> None:
        if self._topic in path and not self._can_sync_all:
            self._hold()
        super().sync_dir(path)

    def _hold(self) -> None:
        self.has_begun.set()
        self.let_go.wait(60)


async def killed_broker(tmp_path: Path, *, can_sync_all: bool) -> tuple[Broker, Held]:
    running, killed = tmp_path / "running", tmp_path / "killed"
    async with running_broker(running) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await client.produce(topic, batch(b"0"))
        shutil.copytree(running, killed, ignore=shutil.ignore_patterns(".journal.*"))
    files = Held(topic.name, can_sync_all=can_sync_all)
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(killed), "node.id": "1"})
    return Broker(config, real_ports(files=files)), files


@pytest.mark.parametrize("can_sync_all", [True, False])
async def test_controller_decisions_do_not_wait_for_the_recovery_of_partitions(
    tmp_path: Path, can_sync_all: bool
) -> None:
    """The node that recovers may be the controller of a whole cluster."""
    broker, files = await killed_broker(tmp_path, can_sync_all=can_sync_all)
    starting = asyncio.ensure_future(broker.start())
    try:
        await asyncio.to_thread(files.has_begun.wait, 60)
        created = await asyncio.wait_for(broker.services.controller.auto_create_topic("meanwhile"), 30)
    finally:
        files.let_go.set()
        await starting
    try:
        client = await Live(broker).connect()
        answer = await client.produce(TopicHandle(created.name, created.topic_id), batch(b"1"))
        assert answer.error_code == 0
        await client.close()
    finally:
        await broker.stop()


@pytest.mark.parametrize("can_sync_all", [True, False])
async def test_a_start_can_be_cancelled_during_recovery(tmp_path: Path, can_sync_all: bool) -> None:
    broker, files = await killed_broker(tmp_path, can_sync_all=can_sync_all)
    starting = asyncio.ensure_future(broker.start())
    await asyncio.to_thread(files.has_begun.wait, 60)
    starting.cancel()
    files.let_go.set()
    with contextlib.suppress(asyncio.CancelledError):
        await starting
    async with running_broker(tmp_path / "killed") as live:
        assert live.services.is_ready


async def test_the_evidence_of_lost_records_stays_until_the_broker_has_registered_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, killed = tmp_path / "running", tmp_path / "killed"
    async with running_broker(running) as live:
        client = await live.connect()
        topic = await client.create_topic()
        for number in range(9):
            await client.produce(topic, batch(b"%d" % number))
        shutil.copytree(running, killed)
    journal = killed / ".journal.0"
    content = bytearray(journal.read_bytes())
    content[20] ^= 1
    content[532] ^= 1
    journal.write_bytes(content)
    register = Lifecycle.register_lost_records
    found: list[FoundJournal] = []

    async def register_and_look(lifecycle: Lifecycle, incarnation_id: bytes) -> int:
        epoch = await register(lifecycle, incarnation_id)
        found.append(read_journal(RealFileSystem(), str(killed)))
        return epoch

    monkeypatch.setattr(Lifecycle, "register_lost_records", register_and_look)
    async with running_broker(killed):
        found.append(read_journal(RealFileSystem(), str(killed)))
    while_registering, afterwards = found
    assert [each.path for each in while_registering.damage] == [str(journal)]
    assert afterwards.damage == []
