"""Changes the partitions of a broker that registers again: it may have lost records.

    it stopped cleanly: it names the epoch it had (KIP-966)      has everything
    it crashed, and the topic syncs before it acknowledges       has all that was committed
    it crashed, and the topic waived that (`flush.messages`)     may lack committed records: see `sync_history`
    it crashed, and was a broker of Apache Kafka                 may lack committed records: it syncs later
    it reports that synced records are gone                      may lack committed records
    it comes with another disk (KIP-858)                         has nothing

A broker that may lack records leaves the in-sync and the eligible replicas unless it is the last one, and returns by
catching up. The last one stays after a crash: no other replica is known to have more. It does not stay if it has lost
its disk: then an unclean election must be requested, or allowed.
"""

from collections.abc import Sequence

import msgspec

from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.partition_change import RequestedChange, Rules, change_partition
from penstock.cluster.controller.sync_history import may_lack_records
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import DIRECTORY_UNASSIGNED, NO_LEADER, Partition
from penstock.config.broker import BrokerConfig
from penstock.protocol.messages.metadata_records import MetadataRecord, PartitionChangeRecord


class ReturningBroker(msgspec.Struct, frozen=True, kw_only=True):
    """A broker that registers; `is_fenced` until its first heartbeat, `was_fenced` before.

    `last_epoch` is the epoch of its last registration, -1 if it had none. `is_kafka`: it was one of Apache Kafka then.
    """

    broker_id: int
    last_epoch: int
    log_dirs: Sequence[bytes]
    stopped_cleanly: bool
    has_lost_records: bool = False
    is_fenced: bool
    was_fenced: bool
    is_kafka: bool = False


def change_partitions(
    image: MetadataImage, config: BrokerConfig, returning: ReturningBroker
) -> list[MetadataRecord]:
    """A fenced broker leaves the in-sync sets. A broker that is not fenced takes the leaderships that it could have.

    If it crashed, its current leaderships continue in a new leader epoch: unsynced records may be gone, and followers
    and consumers notice by the epoch (KIP-320).
    """
    broker_id = returning.broker_id
    rules = ElectionRules(image, config, lambda each: _may_lead(image, returning, each))
    alone = ElectionRules(image, config, lambda each: each == broker_id)
    records: list[MetadataRecord] = []
    for topic in image.topics.values():
        is_suspect = returning.has_lost_records or (
            not returning.stopped_cleanly
            and (returning.is_kafka or may_lack_records(image, config, topic.name, returning.last_epoch))
        )
        for number, partition in topic.partitions.items():
            if broker_id not in partition.replicas:
                continue
            requested = _requested_change(partition, returning, is_suspect=is_suspect)
            record: PartitionChangeRecord | None = None
            if requested is not None:
                here = _with_directory(rules.of(topic.name), returning)
                record = change_partition(topic.topic_id, number, partition, requested, here)
            elif not returning.is_fenced and partition.leader == NO_LEADER:
                here = _with_directory(alone.of(topic.name), returning)
                record = change_partition(topic.topic_id, number, partition, RequestedChange(), here)
            elif not returning.is_fenced and partition.leader == broker_id and not returning.stopped_cleanly:
                record = PartitionChangeRecord(topic_id=topic.topic_id, partition_id=number, leader=broker_id)
            if record is not None:
                records.append(record)
    return records


def _may_lead(image: MetadataImage, returning: ReturningBroker, broker_id: int) -> bool:
    if broker_id == returning.broker_id:
        return not returning.is_fenced
    return image.may_lead(broker_id)


def _requested_change(
    partition: Partition, returning: ReturningBroker, *, is_suspect: bool
) -> RequestedChange | None:
    """The change of the in-sync set; None if it stays the same."""
    me = returning.broker_id
    without_me = tuple(each for each in partition.isr if each != me)
    eligible = {*partition.isr, *partition.elr}
    if _has_lost_disk(partition, returning):
        return RequestedChange(isr=without_me, lost_data=frozenset({me}), lost_disk=frozenset({me}))
    if is_suspect and me in eligible and len(eligible) > 1:
        return RequestedChange(isr=without_me, lost_data=frozenset({me}))
    if returning.is_fenced and not returning.was_fenced and me in partition.isr:
        return RequestedChange(isr=without_me)
    return None


def _has_lost_disk(partition: Partition, returning: ReturningBroker) -> bool:
    directory = partition.directory_of(returning.broker_id)
    return (
        directory != DIRECTORY_UNASSIGNED
        and len(returning.log_dirs) > 0
        and directory not in returning.log_dirs
    )


def _with_directory(rules: Rules, returning: ReturningBroker) -> Rules:
    """Use the directories that the broker has now."""
    directories = returning.log_dirs
    directory = directories[0] if len(directories) == 1 else DIRECTORY_UNASSIGNED

    def directory_of(broker_id: int) -> bytes:
        return directory if broker_id == returning.broker_id else rules.directory_of(broker_id)

    def has_directory(broker_id: int, directory: bytes) -> bool:
        # It has none that failed: see `_has_lost_disk`.
        return broker_id == returning.broker_id or rules.has_directory(broker_id, directory)

    return msgspec.structs.replace(rules, directory_of=directory_of, has_directory=has_directory)
