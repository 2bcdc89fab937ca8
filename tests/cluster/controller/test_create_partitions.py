import random
from collections.abc import Sequence

import pytest

from penstock.cluster.controller.create_partitions import (
    NewPartitions,
    PartitionsCreated,
    decide_create_partitions,
)
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord
from tests.cluster.support import commit, image_of, with_topic


def decide(
    image: MetadataImage, *topics: NewPartitions
) -> tuple[list[MetadataRecord], list[PartitionsCreated]]:
    return decide_create_partitions(image, topics, random.Random(1))


def grown_image() -> MetadataImage:
    image = image_of(brokers=3, fenced=[3])
    with_topic(image, "t", partitions=2, factor=2)
    return image


def test_new_partitions_are_numbered_from_the_last_one() -> None:
    image = grown_image()
    records, results = decide(image, NewPartitions(name="t", count=4))
    commit(image, records)
    topic = image.topic("t")
    assert topic is not None
    assert list(topic.partitions) == [0, 1, 2, 3]
    assert all(len(partition.replicas) == 2 for partition in topic.partitions.values())
    assert results == [PartitionsCreated(name="t")]


def test_a_client_may_assign_the_new_partitions() -> None:
    image = grown_image()
    records, _ = decide(image, NewPartitions(name="t", count=4, assignments=[[2, 3], [3, 1]]))
    commit(image, records)
    new = [image.partition("t", number) for number in (2, 3)]
    assert [(each.replicas, each.isr, each.leader) for each in new if each is not None] == [
        ((2, 3), (2,), 2),
        ((3, 1), (1,), 1),
    ]


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (2, "Topic already has 2 partition(s)."),
        (1, "The topic t currently has 2 partition(s); 1 would not be an increase."),
        (-1, "The topic t currently has 2 partition(s); -1 would not be an increase."),
    ],
)
def test_a_topic_never_shrinks(count: int, message: str) -> None:
    records, (result,) = decide(grown_image(), NewPartitions(name="t", count=count))
    assert records == []
    assert (result.error, result.message) == (ErrorCode.INVALID_PARTITIONS, message)


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        ([[1, 2]], "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."),
        (
            [[1, 2], [1]],
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this is not consistent "
                "with previous partitions, which have 2 replica(s)."
            ),
        ),
        (
            [[1, 9], [1, 2]],
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
    ],
)
def test_an_invalid_assignment_is_refused(assignments: Sequence[Sequence[int]], message: str) -> None:
    records, (result,) = decide(grown_image(), NewPartitions(name="t", count=4, assignments=assignments))
    assert records == []
    assert (result.error, result.message) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def test_an_unknown_topic_and_one_named_twice_are_refused() -> None:
    records, results = decide(
        grown_image(),
        NewPartitions(name="x", count=3),
        NewPartitions(name="t", count=3),
        NewPartitions(name="t", count=4),
    )
    assert records == []
    assert [(each.name, each.error) for each in results] == [
        ("x", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", ErrorCode.INVALID_REQUEST),
    ]


def test_more_partitions_than_fit_in_one_batch_of_the_metadata_log_are_refused() -> None:
    _, (result,) = decide(grown_image(), NewPartitions(name="t", count=10_003))
    assert result.error is ErrorCode.POLICY_VIOLATION
