import msgspec
import pytest

from penstock.cluster.controller.alter_partition import InSyncChange, InSyncChanged, decide_alter_partitions
from penstock.cluster.controller.broker_health import decide_disk_failure, decide_fence
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.reassignments import Move, decide_reassignments
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from tests.cluster.support import CONFIG, commit, disk_of, image_of, with_topic


def cluster() -> tuple[MetadataImage, InSyncChange]:
    """Three brokers, one partition, and a change that takes out its last follower."""
    image = image_of(brokers=4)
    topic_id = with_topic(image, "t", factor=3)
    partition = image.topics["t"].partitions[0]
    return image, InSyncChange(
        topic_id=topic_id,
        partition=0,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=tuple((each, image.brokers[each].epoch) for each in partition.replicas[:2]),
    )


def leader(image: MetadataImage) -> int:
    return image.topics["t"].partitions[0].leader


def alter(image: MetadataImage, change: InSyncChange, by: int | None = None) -> InSyncChanged:
    sender = leader(image) if by is None else by
    epoch = image.brokers[sender].epoch
    records, (answer,) = decide_alter_partitions(image, CONFIG, sender, epoch, [change])
    commit(image, records)
    return answer


def test_a_leader_shrinks_and_expands_the_in_sync_set() -> None:
    image, change = cluster()
    answer = alter(image, change)
    partition = image.topics["t"].partitions[0]
    assert answer.error is ErrorCode.NONE
    assert answer.after == partition
    assert partition.isr == partition.replicas[:2]
    grown = msgspec.structs.replace(
        change, partition_epoch=1, isr=tuple((each, -1) for each in partition.replicas)
    )
    assert alter(image, grown).after == image.topics["t"].partitions[0]
    assert set(image.topics["t"].partitions[0].isr) == set(partition.replicas)


@pytest.mark.parametrize(
    ("difference", "error"),
    [
        ({"topic_id": b"x" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partition": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"isr": ()}, ErrorCode.INVALID_REQUEST),
        ({"isr": ((99, -1),)}, ErrorCode.INVALID_REQUEST),
        ({"recovery_state": 1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_change_that_contradicts_the_metadata_is_refused(
    difference: dict[str, object], error: ErrorCode
) -> None:
    image, change = cluster()
    assert alter(image, msgspec.structs.replace(change, **difference)).error is error


def test_only_the_leader_may_alter_a_partition() -> None:
    image, change = cluster()
    follower = image.topics["t"].partitions[0].replicas[1]
    assert alter(image, change, by=follower).error is ErrorCode.INVALID_REQUEST


def test_a_broker_with_a_stale_epoch_is_refused_completely() -> None:
    image, change = cluster()
    with pytest.raises(Refusal) as refused:
        decide_alter_partitions(image, CONFIG, leader(image), 12345, [change])
    assert refused.value.code is ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize("way", ["fenced", "other epoch", "failed disk"])
def test_a_broker_that_is_fenced_or_restarted_or_has_a_failed_disk_cannot_join_the_in_sync_set(
    way: str,
) -> None:
    image, change = cluster()
    follower = image.topics["t"].partitions[0].replicas[2]
    alter(image, change)
    epoch = image.brokers[follower].epoch
    if way == "fenced":
        commit(image, decide_fence(image, CONFIG, follower).records)
    elif way == "failed disk":
        commit(image, decide_disk_failure(image, CONFIG, follower, [disk_of(follower)]).records)
    joined = msgspec.structs.replace(
        change, partition_epoch=1, isr=(*change.isr, (follower, epoch - 1 if way == "other epoch" else epoch))
    )
    assert alter(image, joined).error is ErrorCode.INELIGIBLE_REPLICA


def test_a_sender_removed_by_a_completed_reassignment_gets_new_leader_elected() -> None:
    image, change = cluster()
    partition = image.topics["t"].partitions[0]
    stays = tuple(each for each in (1, 2, 3, 4) if each != partition.leader)
    commit(image, decide_reassignments(image, CONFIG, [Move(topic="t", partition=0, replicas=stays)]).records)
    everyone = msgspec.structs.replace(
        change, partition_epoch=1, isr=tuple((each, -1) for each in (1, 2, 3, 4))
    )
    assert alter(image, everyone).error is ErrorCode.NEW_LEADER_ELECTED
    after = image.topics["t"].partitions[0]
    assert after.replicas == stays
    assert after.leader in stays


def test_a_leader_with_a_failed_disk_is_succeeded_by_the_first_follower_that_catches_up() -> None:
    image, change = cluster()
    first, second, _ = image.topics["t"].partitions[0].replicas
    alter(image, msgspec.structs.replace(change, isr=((first, -1),)))
    commit(image, decide_disk_failure(image, CONFIG, first, [disk_of(first)]).records)
    assert leader(image) == first
    caught_up = msgspec.structs.replace(change, partition_epoch=1, isr=((first, -1), (second, -1)))
    assert alter(image, caught_up).error is ErrorCode.NEW_LEADER_ELECTED
    assert (leader(image), image.topics["t"].partitions[0].isr) == (second, (second,))


def test_a_reassignment_does_not_end_the_leadership_of_a_failed_disk_that_is_alone_in_sync() -> None:
    image, change = cluster()
    first = leader(image)
    alter(image, msgspec.structs.replace(change, isr=((first, -1),)))
    commit(image, decide_disk_failure(image, CONFIG, first, [disk_of(first)]).records)
    others = tuple(each for each in (1, 2, 3, 4) if each != first)
    move = Move(topic="t", partition=0, replicas=others)
    commit(image, decide_reassignments(image, CONFIG, [move], may_change_factor=False).records)
    assert leader(image) == first
