"""Decides AlterPartitionReassignments: partitions move to other brokers while they are written and read (KIP-455).

While a partition moves, its replicas are the target replicas followed by those to be removed. The move ends
automatically, with an AlterPartition of its leader, as soon as all target replicas are in sync; `replicas=None`
cancels it.
"""

from collections.abc import Iterator, Sequence

import msgspec

from penstock.cluster.controller.assignments import check_manual_assignment
from penstock.cluster.controller.decision import Decision, Refusal, refuse_too_large
from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.partition_change import RequestedChange, change_partition
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Partition, Topic
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """The target replicas of a partition; None cancels a reassignment."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    partition: int
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_reassignments(
    image: MetadataImage, config: BrokerConfig, moves: Sequence[Move], *, may_change_factor: bool = True
) -> Decision[list[Moved]]:
    """Decide about each partition separately."""
    rules = ElectionRules(image, config)
    records: list[MetadataRecord] = []
    results: list[Moved] = []
    for move in moves:
        try:
            record = _decide(image, rules, move, may_change_factor=may_change_factor)
            refuse_too_large(len(records) + 1)
        except Refusal as refusal:
            results.append(
                Moved(topic=move.topic, partition=move.partition, error=refusal.code, message=refusal.message)
            )
            continue
        if record is not None:
            records.append(record)
        results.append(Moved(topic=move.topic, partition=move.partition))
    return Decision(records, results)


def reassigning(image: MetadataImage) -> Iterator[tuple[Topic, int, Partition]]:
    """The partitions with a reassignment in progress."""
    for topic in image.topics.values():
        for number, partition in topic.partitions.items():
            if is_reassigning(partition):
                yield topic, number, partition


def is_reassigning(partition: Partition) -> bool:
    return bool(partition.adding_replicas or partition.removing_replicas)


def _decide(
    image: MetadataImage, rules: ElectionRules, move: Move, *, may_change_factor: bool
) -> MetadataRecord | None:
    topic = image.topic(move.topic)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {move.topic}.")
    partition = topic.partitions.get(move.partition)
    if partition is None:
        raise Refusal(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {move.topic}:{move.partition}.",
        )
    if move.replicas is None:
        requested = _cancellation(rules, topic, move.partition, partition)
    else:
        check_manual_assignment(image, move.replicas, None)
        _check_factor(partition, move.replicas, may_change_factor=may_change_factor)
        requested = _reassignment_to(partition, move.replicas)
    return change_partition(topic.topic_id, move.partition, partition, requested, rules.of(topic.name))


def _check_factor(partition: Partition, replicas: tuple[int, ...], *, may_change_factor: bool) -> None:
    """Refuse another replication factor if the request does not allow that (KIP-860)."""
    current = len(partition.replicas) - len(partition.adding_replicas)
    if not may_change_factor and len(replicas) != current:
        raise Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {current} to {len(replicas)}",
        )


def _reassignment_to(partition: Partition, replicas: tuple[int, ...]) -> RequestedChange:
    removing = tuple(sorted(set(partition.replicas) - set(replicas)))
    adding = tuple(sorted(set(replicas) - set(partition.replicas)))
    return RequestedChange(replicas=(*replicas, *removing), removing=removing, adding=adding)


def _cancellation(rules: ElectionRules, topic: Topic, number: int, partition: Partition) -> RequestedChange:
    if not is_reassigning(partition):
        raise Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    replicas = tuple(each for each in partition.replicas if each not in partition.adding_replicas)
    isr = tuple(each for each in partition.isr if each not in partition.adding_replicas)
    if not isr:
        if not rules.config_of(topic.name).unclean_leader_election_enable:
            raise Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {topic.name}:{number} because it would require an "
                "unclean leader election.",
            )
        isr = replicas[:1]
    return RequestedChange(isr=isr, replicas=replicas, removing=(), adding=())
