import asyncio

import pytest

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.log import MetadataLog
from penstock.cluster.metadata.records import encode_batch
from penstock.observability.clock import ManualClock
from penstock.protocol.messages import metadata_records as mr
from tests.cluster.support import MemorySink, metadata_log

A, B = b"a" * 16, b"b" * 16


def topic(name: str, topic_id: bytes) -> list[mr.MetadataRecord]:
    return [mr.TopicRecord(name=name, topic_id=topic_id)]


def log_on(sink: MemorySink) -> MetadataLog:
    return metadata_log(sink)


def test_nothing_is_known_before_it_is_committed() -> None:
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


def test_what_is_committed_gives_the_image_again() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = log_on(sink)
        await log.append(topic("t", A))
        await log.append([*topic("u", B), mr.FeatureLevelRecord(name="f", feature_level=1)])
        await log.append([mr.RemoveTopicRecord(topic_id=A)])
        again = MetadataLog(MetadataImage("c"), ManualClock())
        await sink.replay(again)
        assert list(again.image.topics) == ["u"]
        assert again.image.offset == log.image.offset == 3
        assert again.image.features.epoch == log.image.features.epoch

    asyncio.run(scenario())


def test_a_snapshot_replaces_what_was_known_and_subscribers_are_told_the_difference() -> None:
    async def scenario() -> None:
        log = log_on(MemorySink())
        await log.append([*topic("t", A), *topic("u", B)])
        image, deltas = log.image, list[MetadataDelta]()
        log.subscribe(deltas.append)
        await log.restart_from([encode_batch([*topic("u", B), *topic("v", b"c" * 16)], 0, 30)], 40)
        assert log.image is image  # whoever holds it sees the new state
        assert list(image.topics) == ["u", "v"]
        assert image.offset == 40
        (delta,) = deltas
        assert [each.name for each in delta.topics_created.values()] == ["v"]
        assert [each.name for each in delta.topics_deleted.values()] == ["t"]

    asyncio.run(scenario())


def test_whoever_waits_for_an_offset_is_woken_when_it_is_applied() -> None:
    async def scenario() -> None:
        log = log_on(MemorySink())
        waiting = asyncio.create_task(log.reached(1))
        await log.append(topic("t", A))
        assert not waiting.done()
        await log.append(topic("u", B))
        await waiting
        await log.reached(0)

    asyncio.run(scenario())
