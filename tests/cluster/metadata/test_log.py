import asyncio

import pytest

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.log import MetadataLog
from penstock.observability.clock import ManualClock
from penstock.protocol.messages import metadata_records as mr
from tests.cluster.support import MemorySink

A, B = b"a" * 16, b"b" * 16


def topic(name: str, topic_id: bytes) -> list[mr.MetadataRecord]:
    return [mr.TopicRecord(name=name, topic_id=topic_id)]


def log_on(sink: MemorySink) -> MetadataLog:
    return MetadataLog(sink, MetadataImage("c"), ManualClock())


def test_nothing_is_known_before_it_is_durable() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = log_on(sink)
        sink.gate = asyncio.get_running_loop().create_future()
        appending = asyncio.create_task(log.append(topic("t", A)))
        await sink.appending.wait()
        assert log.image.topic("t") is None
        sink.gate.set_result(None)
        await appending
        assert log.image.topic("t") is not None
        assert (log.image.offset, log.next_offset) == (0, 1)

    asyncio.run(scenario())


def test_what_the_disk_refused_is_never_known() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = log_on(sink)
        sink.gate = asyncio.get_running_loop().create_future()
        sink.gate.set_exception(OSError("no room"))
        with pytest.raises(OSError, match="no room"):
            await log.append(topic("t", A))
        assert log.image.topics == {}

    asyncio.run(scenario())


def test_subscribers_are_told_in_order_and_waited_for() -> None:
    async def scenario() -> None:
        log = log_on(MemorySink())
        told: list[str] = []

        async def slow(delta: MetadataDelta) -> None:
            await asyncio.sleep(0)
            told.append(f"slow {delta.last_offset}")

        log.subscribe(slow)
        log.subscribe(lambda delta: told.append(f"quick {delta.last_offset}"))
        await log.append(topic("t", A))
        await log.append(topic("u", B))
        assert told == ["slow 0", "quick 0", "slow 1", "quick 1"]

    asyncio.run(scenario())


def test_a_restart_finds_everything_again_and_tells_it_as_one_change() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = log_on(sink)
        await log.append(topic("t", A))
        await log.append([*topic("u", B), mr.FeatureLevelRecord(name="f", feature_level=1)])
        await log.append([mr.RemoveTopicRecord(topic_id=A)])

        again = log_on(sink)
        deltas: list[MetadataDelta] = []
        again.subscribe(deltas.append)
        await again.replay()
        assert list(again.image.topics) == ["u"]
        assert again.image.offset == log.image.offset == 3
        assert again.image.features.epoch == log.image.features.epoch
        (delta,) = deltas
        assert (list(delta.topics_created), delta.topics_deleted) == ([B], {})

    asyncio.run(scenario())
