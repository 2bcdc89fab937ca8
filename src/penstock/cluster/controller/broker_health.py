"""Decides about partitions when a broker or its disk fails, and when it returns, shuts down or is unregistered.

A fenced broker leads nothing and is in no in-sync set. A broker in controlled shutdown hands over its leaderships while
it still serves; it may stop when it leads nothing that another replica could lead. A broker whose disk has failed
(KIP-858) hands over the leaderships that others can take; it keeps the rest, because its records can still be read.
"""

from collections.abc import Callable, Collection, Iterator

from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.partition_change import RequestedChange, change_partition
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import (
    CORDONED_DIRECTORIES_LEVEL,
    DIRECTORY_LOST,
    NO_LEADER,
    Partition,
    Topic,
)
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)

_SET = 1
_CLEARED = -1


def decide_fence(image: MetadataImage, config: BrokerConfig, broker_id: int) -> Decision[None]:
    """Fence a broker."""
    broker = image.brokers.get(broker_id)
    if broker is None or broker.fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_SET)
    return Decision([change, *leave_in_sync_sets(image, config, broker_id)], None)


def decide_retirement(image: MetadataImage, broker_id: int) -> Decision[None]:
    """Fence the only broker of a cluster, which stops. It keeps its leaderships and their epochs: no other takes them.

    Kafka, started on its directory, would else refuse its own broker until the session of this one has ended. Kafka 4.0
    accepts only one that has announced its stop.
    """
    broker = image.brokers.get(broker_id)
    if broker is None or broker.fenced or any(each.broker_id != broker_id for each in image.active_brokers()):
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, fenced=_SET, in_controlled_shutdown=_SET
    )
    return Decision([change], None)


def decide_unfence(image: MetadataImage, config: BrokerConfig, broker_id: int) -> Decision[None]:
    """Unfence a broker: it leads the partitions that have no leader."""
    broker = image.brokers[broker_id]
    if not broker.fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_CLEARED)

    def may_lead(each: int) -> bool:
        return each == broker_id or image.may_lead(each)

    def is_concerned(partition: Partition) -> bool:
        # With a failed disk it leads only partitions that no other broker has: not by an unclean election.
        holders = (partition.isr or partition.elr) if broker.has_failed_disk else partition.replicas
        return partition.leader == NO_LEADER and broker_id in holders

    elected = _change_all(
        image, ElectionRules(image, config, may_lead), is_concerned, lambda _partition: RequestedChange()
    )
    return Decision([change, *elected], None)


def decide_disk_failure(
    image: MetadataImage, config: BrokerConfig, broker_id: int, offline_log_dirs: Collection[bytes]
) -> Decision[None]:
    """A broker's directories have failed: other replicas take over.

    If all have failed, it may not lead until it registers again; until then it leads what no other can. The only broker
    of a cluster continues as it can. A broker of Apache Kafka may have other directories: it serves nothing from those
    that have failed.
    """
    broker = image.brokers[broker_id]
    failed = set(broker.log_dirs).intersection(offline_log_dirs)
    if not failed or len(image.brokers) == 1:
        return Decision([], None)
    working = [each for each in broker.log_dirs if each not in failed]
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, log_dirs=working or [DIRECTORY_LOST]
    )

    def has_successor(before: Partition, record: PartitionChangeRecord) -> bool:
        return before.changed(record).leader != NO_LEADER

    def has_failed(before: Partition, _record: PartitionChangeRecord) -> bool:
        return before.directory_of(broker_id) in failed

    where = has_failed if working else has_successor
    return Decision([change, *leave_in_sync_sets(image, config, broker_id, where=where)], None)


def decide_cordon(
    image: MetadataImage, broker_id: int, cordoned_log_dirs: Collection[bytes]
) -> Decision[None]:
    """Note which directories of a broker get no new replicas (KIP-1066)."""
    broker = image.brokers[broker_id]
    is_known = set(broker.cordoned_log_dirs or ()) == set(cordoned_log_dirs)
    if is_known or image.features.metadata_version < CORDONED_DIRECTORIES_LEVEL:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, cordoned_log_dirs=list(cordoned_log_dirs)
    )
    return Decision([change], None)


def decide_controlled_shutdown(image: MetadataImage, config: BrokerConfig, broker_id: int) -> Decision[None]:
    """Start a controlled shutdown: other replicas take over where they can."""
    broker = image.brokers[broker_id]
    if broker.in_controlled_shutdown:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, in_controlled_shutdown=_SET
    )

    def has_others(before: Partition, _record: PartitionChangeRecord) -> bool:
        return any(each != broker_id and image.may_lead(each) for each in before.isr)

    # It keeps leading the partitions that only it holds, until it is gone.
    return Decision([change, *leave_in_sync_sets(image, config, broker_id, where=has_others)], None)


def decide_unregister(image: MetadataImage, config: BrokerConfig, broker_id: int) -> Decision[None]:
    """Unregister a broker. Its id stays in the replicas of partitions until they are reassigned."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise Refusal(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
        )
    gone = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Decision([*leave_in_sync_sets(image, config, broker_id), gone], None)


def has_leaderships(image: MetadataImage, broker_id: int) -> bool:
    """Whether the broker leads a partition that another in-sync replica could lead."""
    return any(
        partition.leader == broker_id and len(partition.isr) > 1 for _, _, partition in _partitions(image)
    )


def leave_in_sync_sets(
    image: MetadataImage,
    config: BrokerConfig,
    broker_id: int,
    *,
    where: Callable[[Partition, PartitionChangeRecord], bool] = lambda _before, _change: True,
) -> list[MetadataRecord]:
    """Take a broker out of every in-sync set and leadership; `where` may keep it in some."""
    rules = ElectionRules(image, config, lambda each: each != broker_id and image.may_lead(each))
    return _change_all(
        image,
        rules,
        lambda partition: broker_id in partition.isr,
        lambda partition: RequestedChange(isr=tuple(each for each in partition.isr if each != broker_id)),
        where,
    )


def _change_all(
    image: MetadataImage,
    rules: ElectionRules,
    is_concerned: Callable[[Partition], bool],
    change_of: Callable[[Partition], RequestedChange],
    where: Callable[[Partition, PartitionChangeRecord], bool] = lambda _before, _change: True,
) -> list[MetadataRecord]:
    records: list[MetadataRecord] = []
    for topic, number, partition in _partitions(image):
        if is_concerned(partition):
            requested = change_of(partition)
            record = change_partition(topic.topic_id, number, partition, requested, rules.of(topic.name))
            if record is not None and where(partition, record):
                records.append(record)
    return records


def _partitions(image: MetadataImage) -> Iterator[tuple[Topic, int, Partition]]:
    for topic in image.topics.values():
        for number, partition in topic.partitions.items():
            yield topic, number, partition
