"""The scrubber checks logs that were not used since the start, and a changed interval applies at once."""

import asyncio
import itertools
import os
from pathlib import Path

from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.records.batch import HEADER_SIZE, iter_batches
from penstock.storage.directory.checkpoints import PartitionName
from tests.server.live import Live, TopicHandle, batch, code, one, running_broker, within

INTERVAL = "penstock.log.scrub.interval.ms"
RARELY = {INTERVAL: "86400000"}
BROKER = 4
SOUND = ("a", "b", "z")
BAD = "m"


def flip(directory: Path) -> None:
    segment = directory / f"{BAD}-0" / f"{0:020d}.log"
    content = segment.read_bytes()
    position = next(itertools.islice(iter_batches(content), 1, None))[0] + HEADER_SIZE + 8
    with segment.open("r+b") as file:
        file.seek(position)
        file.write(bytes([content[position] ^ 0x01]))


async def fill(live: Live) -> TopicHandle:
    client = await live.connect()
    for name in (*SOUND, BAD):
        topic = await client.create_topic(name=name)
        for number in range(3):
            await client.produce(topic, batch(b"value-%d" % number))
        if name == BAD:
            bad = topic
    return bad


async def found(live: Live) -> None:
    while not live.services.replicas.damage:
        await asyncio.sleep(0.01)


def open_logs() -> list[str]:
    """The segments that this process has open."""
    links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
    return [path for link in links if os.path.islink(link) and (path := os.readlink(link)).endswith(".log")]


async def test_damage_in_an_unused_log_is_found_and_undamaged_logs_stay_closed(tmp_path: Path) -> None:
    async with running_broker(tmp_path, RARELY) as live:
        bad = await fill(live)
    flip(tmp_path)
    async with running_broker(tmp_path, {INTERVAL: "50"}) as live:
        await within(20, found(live))
        replicas = live.services.replicas
        assert list(replicas.damage) == [PartitionName(BAD, 0)]
        opened = {replica.topic for replica in replicas if replica.is_open}
        assert opened == {BAD}
        assert not [path for path in open_logs() if any(f"/{name}-0/" in path for name in SOUND)]
        answer = await (await live.connect()).fetch(bad, 1)
        assert code(answer.error_code) == "CORRUPT_MESSAGE"


async def test_a_changed_interval_does_not_wait_for_the_old_one(tmp_path: Path) -> None:
    async with running_broker(tmp_path, RARELY) as live:
        await fill(live)
        flip(tmp_path)
        config = AlterableConfig(name=INTERVAL, config_operation=0, value="50")
        changed = AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[config])
        client = await live.connect()
        answer = await client.send(IncrementalAlterConfigsRequest(resources=[changed]))
        assert one(answer.responses).error_code == 0
        await within(20, found(live))
