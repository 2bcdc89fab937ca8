import asyncio

from penstock.cluster.metadata.applied import AppliedMetadata
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.records import encode_batch
from penstock.protocol.messages import metadata_records as mr
from tests.cluster.support import MemorySink, metadata_log

A, B = b"a" * 16, b"b" * 16


def topic(name: str, topic_id: bytes) -> list[mr.MetadataRecord]:
    return [mr.TopicRecord(name=name, topic_id=topic_id)]


def test_subscribers_are_notified_in_order_and_waited_for() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = metadata_log(sink)
        notified: list[str] = []

        async def slow(delta: MetadataDelta) -> None:
            await asyncio.sleep(0)
            notified.append(f"slow {delta.last_offset}")

        log.subscribe(slow)
        log.subscribe(lambda delta: notified.append(f"quick {delta.last_offset}"))
        await log.append(topic("t", A))
        await log.append(topic("u", B))
        assert notified == ["slow 0", "quick 0", "slow 1", "quick 1"]

    asyncio.run(scenario())


def test_committed_records_restore_the_image() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = metadata_log(sink)
        await log.append(topic("t", A))
        await log.append([*topic("u", B), mr.FeatureLevelRecord(name="f", feature_level=1)])
        await log.append([mr.RemoveTopicRecord(topic_id=A)])
        again = AppliedMetadata(MetadataImage("c"))
        await sink.replay(again)
        assert list(again.image.topics) == ["u"]
        assert again.image.offset == log.image.offset == 3
        assert again.image.features.epoch == log.image.features.epoch

    asyncio.run(scenario())


def test_a_snapshot_replaces_the_image_and_subscribers_are_notified_of_the_difference() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = metadata_log(sink)
        await log.append([*topic("t", A), *topic("u", B)])
        image, deltas = log.image, list[MetadataDelta]()
        log.subscribe(deltas.append)
        await sink.applied.restart_from([encode_batch([*topic("u", B), *topic("v", b"c" * 16)], 0, 30)], 40)
        assert log.image is image  # a holder of the image sees the new state
        assert list(image.topics) == ["u", "v"]
        assert image.offset == 40
        (delta,) = deltas
        assert [each.name for each in delta.topics_created.values()] == ["v"]
        assert [each.name for each in delta.topics_deleted.values()] == ["t"]

    asyncio.run(scenario())


def test_a_waiter_for_an_offset_is_woken_when_it_is_applied() -> None:
    async def scenario() -> None:
        sink = MemorySink()
        log = metadata_log(sink)
        waiting = asyncio.create_task(sink.applied.reached(1))
        await log.append(topic("t", A))
        assert not waiting.done()
        await log.append(topic("u", B))
        await waiting
        await sink.applied.reached(0)

    asyncio.run(scenario())
