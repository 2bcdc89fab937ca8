import pytest

from penstock.cluster.controller.reassignments import Move, Moved, decide_reassignments, reassigning
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Partition
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import PartitionChangeRecord
from tests.cluster.support import CONFIG, commit, image_of, with_topic


def cluster() -> tuple[MetadataImage, Partition, int]:
    image = image_of(brokers=4)
    with_topic(image, "t", factor=3)
    partition = image.topics["t"].partitions[0]
    (spare,) = {1, 2, 3, 4} - set(partition.replicas)
    return image, partition, spare


def move(
    image: MetadataImage, replicas: tuple[int, ...] | None, *, name: str = "t", number: int = 0
) -> Moved:
    wanted = Move(topic=name, partition=number, replicas=replicas)
    records, (answer,) = decide_reassignments(image, CONFIG, [wanted])
    commit(image, records)
    return answer


def test_a_reassignment_adds_the_new_replica_and_marks_the_one_to_remove() -> None:
    image, before, spare = cluster()
    assert move(image, (spare, *before.replicas[:2])).error is ErrorCode.NONE
    after = image.topics["t"].partitions[0]
    assert after.replicas == (spare, *before.replicas)
    assert (after.adding_replicas, after.removing_replicas) == ((spare,), before.replicas[2:])
    assert [number for _, number, _ in reassigning(image)] == [0]


def test_a_new_order_of_the_same_replicas_applies_at_once() -> None:
    image, before, _ = cluster()
    assert move(image, before.replicas[::-1]).error is ErrorCode.NONE
    assert image.topics["t"].partitions[0].replicas == before.replicas[::-1]
    assert not list(reassigning(image))


def test_a_reassignment_can_be_cancelled() -> None:
    image, before, spare = cluster()
    assert move(image, None).error is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    move(image, (spare, *before.replicas[:2]))
    assert move(image, None).error is ErrorCode.NONE
    assert image.topics["t"].partitions[0].replicas == before.replicas
    assert not list(reassigning(image))


def test_a_reassignment_whose_new_replicas_alone_are_in_sync_cannot_be_cancelled() -> None:
    image, _before, spare = cluster()
    move(image, (spare,))
    topic_id = image.topics["t"].topic_id
    commit(image, [PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=[spare], leader=spare)])
    assert move(image, None).error is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(
    ("replicas", "name", "number", "error"),
    [
        ((1,), "other", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((1,), "t", 5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((), "t", 0, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 1), "t", 0, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 99), "t", 0, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_an_invalid_reassignment_is_refused(
    replicas: tuple[int, ...], name: str, number: int, error: ErrorCode
) -> None:
    image, before, _ = cluster()
    assert move(image, replicas, name=name, number=number).error is error
    assert image.topics["t"].partitions[0] == before


def test_a_request_may_forbid_a_change_of_the_replication_factor() -> None:
    image, before, spare = cluster()
    wanted = [Move(topic="t", partition=0, replicas=(spare,))]
    _, (answer,) = decide_reassignments(image, CONFIG, wanted, may_change_factor=False)
    assert answer.error is ErrorCode.INVALID_REPLICATION_FACTOR
    wanted = [Move(topic="t", partition=0, replicas=(spare, *before.replicas[:2]))]
    _, (answer,) = decide_reassignments(image, CONFIG, wanted, may_change_factor=False)
    assert answer.error is ErrorCode.NONE
