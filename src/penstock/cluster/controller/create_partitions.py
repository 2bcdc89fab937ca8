"""Decides CreatePartitions: a topic can only grow."""

import random
from collections import Counter
from collections.abc import Sequence

import msgspec

from penstock.cluster.controller.assignments import (
    check_manual_assignment,
    new_partition,
    require_active_replica,
)
from penstock.cluster.controller.decision import (
    RECORDS_PER_DECISION_MAX,
    Charge,
    Decision,
    Refusal,
    charge_for,
    no_charge,
    refuse_duplicate,
    refuse_too_large,
)
from penstock.cluster.controller.delete_topics import UNKNOWN_NAME
from penstock.cluster.controller.placement import place_replicas
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Topic
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord

READ_ONLY = (
    "is a mirror of another cluster's, and read-only here until it is promoted (penstock mirror promote)."
)


class NewPartitions(msgspec.Struct, frozen=True, kw_only=True):
    """A topic and its new number of partitions; `assignments` are the brokers of each new partition."""

    name: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


class PartitionsCreated(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_create_partitions(
    image: MetadataImage,
    topics: Sequence[NewPartitions],
    randomness: random.Random,
    charge: Charge = no_charge,
    *,
    is_for_mirror: bool = False,
) -> Decision[list[PartitionsCreated]]:
    """Decide about each topic separately."""
    records: list[MetadataRecord] = []
    results: list[PartitionsCreated] = []
    occurrences = Counter(topic.name for topic in topics)
    for topic in {each.name: each for each in topics}.values():
        try:
            refuse_duplicate(occurrences[topic.name])
            if not is_for_mirror and image.is_read_only(topic.name):
                raise Refusal(ErrorCode.POLICY_VIOLATION, f"Topic {topic.name} {READ_ONLY}")  # noqa: TRY301
            made = _grow(image, topic, RECORDS_PER_DECISION_MAX - len(records), randomness)
            charge_for(charge, len(made))
        except Refusal as refusal:
            results.append(PartitionsCreated(name=topic.name, error=refusal.code, message=refusal.message))
            continue
        records += made
        results.append(PartitionsCreated(name=topic.name))
    return Decision(records, results)


def _grow(
    image: MetadataImage, wanted: NewPartitions, count_max: int, randomness: random.Random
) -> list[MetadataRecord]:
    topic = image.topic(wanted.name)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_NAME)
    present = len(topic.partitions)
    if wanted.count == present:
        raise Refusal(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if wanted.count < present:
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {wanted.name} currently has {present} partition(s); {wanted.count} would not be an increase.",
        )
    refuse_too_large(wanted.count - present, count_max)
    assigned = _assign(image, topic, wanted, randomness)
    return [
        new_partition(image, topic.topic_id, present + index, replicas)
        for index, replicas in enumerate(assigned)
    ]


def _assign(
    image: MetadataImage, topic: Topic, wanted: NewPartitions, randomness: random.Random
) -> Sequence[Sequence[int]]:
    present = len(topic.partitions)
    additional = wanted.count - present
    factor = topic.replication_factor
    if wanted.assignments is None:
        return place_replicas(
            image.brokers.values(),
            partition_count=additional,
            replication_factor=factor,
            randomness=randomness,
        )
    if len(wanted.assignments) != additional:
        raise Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only {len(wanted.assignments)} "
            "assignment(s) were specified.",
        )
    for index, replicas in enumerate(wanted.assignments):
        check_manual_assignment(image, replicas, factor)
        require_active_replica(image, replicas, present + index)
    return wanted.assignments
