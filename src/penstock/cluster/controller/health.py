"""Decides what becomes of partitions when a broker or its disk fails, when it returns, drains or leaves for good.

A fenced broker leads nothing and is in no in-sync set. One in controlled shutdown hands its leaderships over while it
still serves; it may go when it leads nothing any more that somebody else could lead. One whose disk has failed
(KIP-858) hands over what somebody else can lead, and keeps the rest, for what it has can still be read.
"""

from collections.abc import Callable, Collection, Iterator

from penstock.cluster.controller.decision import Decision, Refusal
from penstock.cluster.controller.election_rules import ElectionRules
from penstock.cluster.controller.partition_change import Wish, change_partition
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import DIRECTORY_LOST, NO_LEADER, Partition, Topic
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
    """A broker is not heard of any more."""
    broker = image.brokers.get(broker_id)
    if broker is None or broker.fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_SET)
    return Decision([change, *leave_in_sync_sets(image, config, broker_id)], None)


def decide_unfence(image: MetadataImage, config: BrokerConfig, broker_id: int) -> Decision[None]:
    """A broker is up and knows the metadata: it may lead what nobody else could."""
    broker = image.brokers[broker_id]
    if not broker.fenced:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker.epoch, fenced=_CLEARED)

    def may_lead(each: int) -> bool:
        return each == broker_id or image.may_lead(each)

    def is_concerned(partition: Partition) -> bool:
        # With a failed disk it leads only what is found nowhere else: it is no choice for an unclean election.
        holders = (partition.isr or partition.elr) if broker.has_failed_disk else partition.replicas
        return partition.leader == NO_LEADER and broker_id in holders

    elected = _change_all(
        image, ElectionRules(image, config, may_lead), is_concerned, lambda _partition: Wish()
    )
    return Decision([change, *elected], None)


def decide_disk_failure(
    image: MetadataImage, config: BrokerConfig, broker_id: int, offline_log_dirs: Collection[bytes]
) -> Decision[None]:
    """A broker says that its directory has failed: who can takes over, and it is unfit until it registers again.

    A broker that is the only one goes on as it can: there is nobody to make way for.
    """
    broker = image.brokers[broker_id]
    is_lost = len(broker.log_dirs) > 0 and set(broker.log_dirs) <= set(offline_log_dirs)
    if not is_lost or len(image.brokers) == 1:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, log_dirs=[DIRECTORY_LOST]
    )
    return Decision([change, *_make_way(image, config, broker_id)], None)


def _make_way(image: MetadataImage, config: BrokerConfig, broker_id: int) -> list[MetadataRecord]:
    """Leave the in-sync sets of what others can lead; what nobody else could take over stays as it is."""
    rules = ElectionRules(image, config, lambda each: each != broker_id and image.may_lead(each))
    records: list[MetadataRecord] = []
    for topic, number, partition in _partitions(image):
        if broker_id in partition.isr:
            wish = Wish(isr=tuple(each for each in partition.isr if each != broker_id))
            record = change_partition(topic.topic_id, number, partition, wish, rules.of(topic.name))
            if record is not None and partition.changed(record).leader != NO_LEADER:
                records.append(record)
    return records


def decide_controlled_shutdown(image: MetadataImage, config: BrokerConfig, broker_id: int) -> Decision[None]:
    """A broker wants to stop: others take over what they can."""
    broker = image.brokers[broker_id]
    if broker.in_controlled_shutdown:
        return Decision([], None)
    change = BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=broker.epoch, in_controlled_shutdown=_SET
    )
    return Decision([change, *_hand_over(image, config, broker_id)], None)


def decide_unregister(image: MetadataImage, config: BrokerConfig, broker_id: int) -> Decision[None]:
    """A broker left for good. Its name stays in the replicas of partitions until they are reassigned."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise Refusal(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
        )
    gone = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch)
    return Decision([*leave_in_sync_sets(image, config, broker_id), gone], None)


def has_leaderships(image: MetadataImage, broker_id: int) -> bool:
    """Whether it leads something that another in-sync replica could take over."""
    return any(
        partition.leader == broker_id and len(partition.isr) > 1 for _, _, partition in _partitions(image)
    )


def leave_in_sync_sets(image: MetadataImage, config: BrokerConfig, broker_id: int) -> list[MetadataRecord]:
    """Take a broker out of every in-sync set and leadership."""

    def may_lead(each: int) -> bool:
        return each != broker_id and image.may_lead(each)

    return _change_all(
        image,
        ElectionRules(image, config, may_lead),
        lambda partition: broker_id in partition.isr,
        lambda partition: Wish(isr=tuple(each for each in partition.isr if each != broker_id)),
    )


def _hand_over(image: MetadataImage, config: BrokerConfig, broker_id: int) -> list[MetadataRecord]:
    """Leave the in-sync sets that have others in them; what only this broker holds it leads until it is gone."""

    def may_lead(each: int) -> bool:
        return each != broker_id and image.may_lead(each)

    def is_concerned(partition: Partition) -> bool:
        return broker_id in partition.isr and any(may_lead(each) for each in partition.isr)

    return _change_all(
        image,
        ElectionRules(image, config, may_lead),
        is_concerned,
        lambda partition: Wish(isr=tuple(each for each in partition.isr if each != broker_id)),
    )


def _change_all(
    image: MetadataImage,
    rules: ElectionRules,
    is_concerned: Callable[[Partition], bool],
    wish_of: Callable[[Partition], Wish],
) -> list[MetadataRecord]:
    records: list[MetadataRecord] = []
    for topic, number, partition in _partitions(image):
        if is_concerned(partition):
            change: PartitionChangeRecord | None = change_partition(
                topic.topic_id, number, partition, wish_of(partition), rules.of(topic.name)
            )
            if change is not None:
                records.append(change)
    return records


def _partitions(image: MetadataImage) -> Iterator[tuple[Topic, int, Partition]]:
    for topic in image.topics.values():
        for number, partition in topic.partitions.items():
            yield topic, number, partition
