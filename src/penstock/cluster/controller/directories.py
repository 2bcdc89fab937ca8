"""Decides which log directory of a broker holds a replica, as the broker reports it (KIP-858).

A broker with one directory needs no report: a new replica is in that one. A replica in a directory that has failed
leaves the in-sync set, and its leadership.
"""

from collections.abc import Sequence

import msgspec

from penstock.cluster.controller.brokers import check_broker_epoch
from penstock.cluster.controller.decision import Decision
from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.partition_change import RequestedChange, change_partition
from penstock.cluster.metadata.image import MetadataImage
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord, PartitionChangeRecord


class DirectoryAssignment(msgspec.Struct, frozen=True, kw_only=True):
    directory: bytes
    topic_id: bytes
    partition: int


class DirectoryAssigned(msgspec.Struct, frozen=True, kw_only=True):
    assignment: DirectoryAssignment
    error: ErrorCode = ErrorCode.NONE


def decide_directories(
    image: MetadataImage,
    config: BrokerConfig,
    broker_id: int,
    broker_epoch: int,
    assignments: Sequence[DirectoryAssignment],
) -> Decision[list[DirectoryAssigned]]:
    """Decide about each replica separately. Raises `Refusal` for a stale broker epoch."""
    check_broker_epoch(image, broker_id, broker_epoch)
    records: list[MetadataRecord] = []
    results: list[DirectoryAssigned] = []
    for each in assignments:
        error, changes = _assign(image, config, broker_id, each)
        records += changes
        results.append(DirectoryAssigned(assignment=each, error=error))
    return Decision(records, results)


def _assign(
    image: MetadataImage, config: BrokerConfig, broker_id: int, wanted: DirectoryAssignment
) -> tuple[ErrorCode, list[PartitionChangeRecord]]:
    topic = image.topic_by_id(wanted.topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID, []
    partition = topic.partitions.get(wanted.partition)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []
    if broker_id not in partition.replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, []
    directories = tuple(
        wanted.directory if each == broker_id else partition.directory_of(each) for each in partition.replicas
    )
    records: list[PartitionChangeRecord] = []
    if directories != partition.directories:
        records.append(
            PartitionChangeRecord(
                topic_id=wanted.topic_id, partition_id=wanted.partition, directories=list(directories)
            )
        )
    if wanted.directory not in image.brokers[broker_id].log_dirs and broker_id in partition.isr:
        rules = ElectionRules(image, config, lambda each: each != broker_id and image.may_lead(each))
        left = RequestedChange(isr=tuple(each for each in partition.isr if each != broker_id))
        after = msgspec.structs.replace(partition, directories=directories)
        change = change_partition(wanted.topic_id, wanted.partition, after, left, rules.of(topic.name))
        records += [] if change is None else [change]
    return ErrorCode.NONE, records
