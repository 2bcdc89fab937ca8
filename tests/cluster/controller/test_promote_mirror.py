import msgspec

from penstock.client.mirrors import ReadyPartition
from penstock.cluster.controller.promote_mirror import decide_promotion
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MirrorState, TopicState
from tests.cluster.controller.mirror_stage import change, follow, image_with_mirror, state_of, there
from tests.cluster.support import commit


def promoting() -> MetadataImage:
    image = image_with_mirror()
    follow(image, there("orders", 3, 9), there("orders-2", 1))
    change(image, state="promoting")
    return image


def ready(image: MetadataImage, topic: str, number: int, **fields: int) -> ReadyPartition:
    partition = image.partition(topic, number)
    assert partition is not None
    report = ReadyPartition(
        topic=topic,
        partition=number,
        leader_epoch=partition.leader_epoch,
        end_offset=10,
        truncated_from=10,
        source_offset=10,
    )
    return msgspec.structs.replace(report, **fields)


def promote(image: MetadataImage, *reports: ReadyPartition) -> bool:
    records, is_promoted = decide_promotion(image, "m", reports)
    commit(image, records)
    return is_promoted


def test_topics_are_promoted_as_their_partitions_get_ready() -> None:
    image = promoting()
    assert not promote(image, ready(image, "orders", 0), ready(image, "orders-2", 0))
    assert image.is_read_only("orders")
    assert not image.is_read_only("orders-2")
    assert promote(image, ready(image, "orders", 0), ready(image, "orders", 1))
    assert not image.is_read_only("orders")
    assert state_of(image) is MirrorState.PROMOTED


def test_all_partitions_of_a_topic_begin_one_leader_epoch_above_every_earlier_one() -> None:
    image = promoting()
    before = [image.topics["orders"].partitions[number] for number in (0, 1)]
    promote(image, *(ready(image, "orders", number) for number in (0, 1)))
    after = [image.topics["orders"].partitions[number] for number in (0, 1)]
    epoch = max(each.leader_epoch for each in before) + 1
    assert [each.leader_epoch for each in after] == [epoch, epoch]
    assert [each.leader for each in after] == [each.leader for each in before]
    topic = image.mirrored_topic("orders")
    assert topic is not None
    assert (topic.state, topic.promoted_epoch) == (TopicState.PROMOTED, epoch)


def test_the_report_of_a_former_leader_does_not_count() -> None:
    image = promoting()
    stale = ready(image, "orders-2", 0, leader_epoch=0)
    assert not promote(image, stale)
    assert image.is_read_only("orders-2")


def test_nothing_is_promoted_without_a_request() -> None:
    image = promoting()
    change(image, state="running")
    assert not promote(image, ready(image, "orders-2", 0))
    assert image.is_read_only("orders-2")


def test_what_is_left_behind_counts_dropped_and_uncopied_offsets() -> None:
    image = promoting()
    assert ready(image, "orders-2", 0).left_behind == 0
    assert ready(image, "orders-2", 0, end_offset=7).left_behind == 3
    assert ready(image, "orders-2", 0, truncated_from=12, source_offset=20).left_behind == 10
    assert ready(image, "orders-2", 0, source_offset=-1).left_behind == 0
