"""Decides AlterPartition: a leader changes the in-sync set of a partition (KIP-497).

The request must have the current leader epoch and partition epoch: of two concurrent changes the second is refused, and
its sender tries again with the new state.
"""

from collections.abc import Sequence

import msgspec

from penstock.cluster.controller.brokers import check_broker_epoch
from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.partition_change import (
    RECOVERED,
    RECOVERING,
    RequestedChange,
    change_partition,
)
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import NO_LEADER_CHANGE, Partition, Topic
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord, PartitionChangeRecord

_EPOCH_UNKNOWN = -1


class InSyncChange(msgspec.Struct, frozen=True, kw_only=True):
    """The in-sync set that a leader requests: pairs of a broker and its epoch."""

    topic_id: bytes
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    recovery_state: int = RECOVERED


class InSyncChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The result; `after` is the new state of the partition if `error` is NONE."""

    topic_id: bytes
    partition: int
    error: ErrorCode = ErrorCode.NONE
    after: Partition | None = None


def decide_alter_partitions(
    image: MetadataImage,
    config: BrokerConfig,
    broker_id: int,
    broker_epoch: int,
    changes: Sequence[InSyncChange],
) -> Decision[list[InSyncChanged]]:
    """Decide about each partition separately. Raises `Refusal` for a stale broker epoch."""
    check_broker_epoch(image, broker_id, broker_epoch)
    rules = ElectionRules(image, config)
    records: list[MetadataRecord] = []
    results: list[InSyncChanged] = []
    for change in changes:
        try:
            topic, partition = _find(image, change)
            _check_current(broker_id, partition, change)
            _check_members(image, partition, change)
        except Refusal as refusal:
            results.append(_answer(change, refusal.code))
            continue
        requested = RequestedChange(
            isr=_fit(image, [each for each, _ in change.isr]),
            is_recovered=change.recovery_state == RECOVERED,
        )
        record = change_partition(
            topic.topic_id, change.partition, partition, requested, rules.of(topic.name)
        )
        if record is not None:
            records.append(record)
        results.append(_granted(broker_id, change, partition, record))
    return Decision(records, results)


def _find(image: MetadataImage, change: InSyncChange) -> tuple[Topic, Partition]:
    topic = image.topic_by_id(change.topic_id)
    if topic is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "no such topic")
    partition = topic.partitions.get(change.partition)
    if partition is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such partition")
    return topic, partition


def _check_current(broker_id: int, partition: Partition, change: InSyncChange) -> None:
    is_ahead = (
        change.leader_epoch > partition.leader_epoch or change.partition_epoch > partition.partition_epoch
    )
    if is_ahead:
        raise Refusal(
            ErrorCode.NOT_CONTROLLER, "the sender has newer metadata: another node is the controller"
        )
    if change.leader_epoch < partition.leader_epoch:
        raise Refusal(ErrorCode.FENCED_LEADER_EPOCH, "an older leader epoch")
    if broker_id != partition.leader:
        raise Refusal(ErrorCode.INVALID_REQUEST, "not the leader")
    if change.partition_epoch < partition.partition_epoch:
        raise Refusal(ErrorCode.INVALID_UPDATE_VERSION, "an older partition epoch")


def _check_members(image: MetadataImage, partition: Partition, change: InSyncChange) -> None:
    members = [each for each, _ in change.isr]
    is_recovering = change.recovery_state == RECOVERING
    if len(set(members)) != len(members) or not set(members) <= set(partition.replicas):
        raise Refusal(ErrorCode.INVALID_REQUEST, "the in-sync set must consist of replicas, each once")
    if partition.leader not in members:
        raise Refusal(ErrorCode.INVALID_REQUEST, "the in-sync set must have the leader")
    if is_recovering and (len(members) > 1 or partition.leader_recovery_state == RECOVERED):
        raise Refusal(
            ErrorCode.INVALID_REQUEST,
            "a recovering leader must be the only member",
        )
    for broker_id, epoch in change.isr:
        broker = image.brokers.get(broker_id)
        is_same = broker is not None and epoch in (_EPOCH_UNKNOWN, broker.epoch)
        # A leader whose disk has failed may stay, and add its successors.
        is_fit = broker is not None and (broker.may_lead or (broker.is_active and broker_id in partition.isr))
        if not is_fit or not is_same:
            raise Refusal(ErrorCode.INELIGIBLE_REPLICA, f"broker {broker_id} may not be in sync")


def _fit(image: MetadataImage, members: Sequence[int]) -> tuple[int, ...]:
    """The members that may lead; all of them, if none may."""
    return tuple(each for each in members if image.may_lead(each)) or tuple(members)


def _granted(
    broker_id: int, change: InSyncChange, before: Partition, record: PartitionChangeRecord | None
) -> InSyncChanged:
    after = before if record is None else before.changed(record)
    if record is not None and record.leader not in (NO_LEADER_CHANGE, broker_id):
        return _answer(
            change, ErrorCode.NEW_LEADER_ELECTED
        )  # a reassignment was completed without the sender
    return InSyncChanged(topic_id=change.topic_id, partition=change.partition, after=after)


def _answer(change: InSyncChange, error: ErrorCode) -> InSyncChanged:
    return InSyncChanged(topic_id=change.topic_id, partition=change.partition, error=error)
