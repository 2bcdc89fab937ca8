"""Decides what a mirror changes here after it has looked at its source: topics, partitions, settings, leader epochs.

The batches of a mirrored partition have the source's leader epochs, and Kafka's clients and followers refuse batches of
a later epoch than the partition's own. So its own leader epoch is never below the source's. It is set some epochs
higher, so that most elections at the source change nothing here.
"""

import random
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from penstock.client import mirrors
from penstock.cluster.controller.alter_configs import (
    Operation,
    ResourceChanges,
    SettingChange,
    decide_alter_configs,
)
from penstock.cluster.controller.create_partitions import NewPartitions, decide_create_partitions
from penstock.cluster.controller.create_topics import NewTopic, decide_create_topics
from penstock.cluster.controller.decision import RECORDS_PER_DECISION_MAX, Decision, Refusal
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.mirrors import (
    MIRROR,
    MIRRORED_TOPIC,
    OF_MIRROR,
    OUTCOME,
    SOURCE_TOPIC_ID,
    Mirror,
    MirroredTopic,
    MirrorState,
    TopicState,
)
from penstock.cluster.metadata.snapshot import partition_record
from penstock.cluster.metadata.state import Partition, Topic
from penstock.config.broker import BrokerConfig
from penstock.config.settings import replication
from penstock.config.settings import topic as topic_settings
from penstock.config.table import TOPIC
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord, MetadataRecord, PartitionRecord

EPOCHS_AHEAD: Final = 64
"""How far the leader epoch of a partition is set above its source's."""

_NO_ID: Final = bytes(16)
_LOCAL_SETTINGS: Final = frozenset(
    {
        topic_settings.MIN_INSYNC_REPLICAS.name,
        topic_settings.UNCLEAN_LEADER_ELECTION_ENABLE.name,
        "leader.replication.throttled.replicas",
        "follower.replication.throttled.replicas",
        "remote.storage.enable",
    }
)
"""Settings about the replicas of one cluster: they are not copied."""


class SourceTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic at the source. `settings` are its own, without defaults."""

    name: str
    topic_id: bytes
    leader_epochs: tuple[int, ...]
    """Of each partition; -1 where the source does not know."""
    settings: Mapping[str, str] = {}


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    cluster_id: str
    topics: tuple[SourceTopic, ...]


class SourceFollowed(msgspec.Struct, frozen=True, kw_only=True):
    """`troubles` are topics that cannot be mirrored, and why."""

    troubles: Mapping[str, str] = {}


def decide_follow_source(
    image: MetadataImage, config: BrokerConfig, randomness: random.Random, name: str, view: SourceView
) -> Decision[SourceFollowed]:
    """Raises `Refusal` if the source must not be mirrored at all."""
    mirror = image.mirror(name)
    if mirror is None or mirror.state in (MirrorState.PAUSED, MirrorState.FORCING, MirrorState.PROMOTED):
        return Decision([], SourceFollowed())
    _check_cluster(image, mirror, view)
    records: list[MetadataRecord] = []
    troubles: dict[str, str] = {}
    for topic in view.topics:
        try:
            made = _follow(image, config, randomness, mirror, topic)
        except Refusal as refusal:
            troubles[topic.name] = refusal.message
            continue
        if len(records) + len(made) > RECORDS_PER_DECISION_MAX - 2:
            break  # the rest in the next round
        records += made
    troubles |= _missing(image, mirror, view)
    if mirror.state is MirrorState.CHECKING:
        if troubles:
            return Decision([], SourceFollowed(troubles=troubles))
        records = [
            _of_mirror(name, mirrors.STATE, MirrorState.RUNNING.value),
            _of_mirror(name, mirrors.SOURCE_CLUSTER, view.cluster_id),
            *records,
        ]
    return Decision(records, SourceFollowed(troubles=troubles))


def _check_cluster(image: MetadataImage, mirror: Mirror, view: SourceView) -> None:
    if view.cluster_id == image.cluster_id:
        raise Refusal(
            ErrorCode.INVALID_REQUEST, f"{mirror.servers} is this cluster itself: name the source's brokers."
        )
    if mirror.source_cluster not in ("", view.cluster_id):
        raise Refusal(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"{mirror.servers} is cluster {view.cluster_id} now, and was cluster {mirror.source_cluster}: nothing is "
            f"copied. Correct {mirrors.SERVERS}, or promote the mirror and create another one.",
        )


def _missing(image: MetadataImage, mirror: Mirror, view: SourceView) -> dict[str, str]:
    there = {each.name for each in view.topics}
    return {
        each.topic: "The source has no such topic any more. Promote the mirror, or delete the topic here."
        for each in image.mirrored_topics(mirror.name)
        if each.is_read_only and each.topic not in there
    }


def _follow(
    image: MetadataImage, config: BrokerConfig, randomness: random.Random, mirror: Mirror, source: SourceTopic
) -> list[MetadataRecord]:
    """The records for one topic. Raises `Refusal`."""
    here, known = image.topic(source.name), image.mirrored_topic(source.name)
    if here is None:
        if mirror.state is MirrorState.PROMOTING:
            return []
        return _create(image, config, randomness, mirror, source)
    if known is not None and known.is_read_only and known.mirror != mirror.name:
        raise Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"The topic belongs to mirror {known.mirror} here.")
    if known is None or not known.is_read_only:
        if not mirror.may_adopt:
            raise Refusal(
                ErrorCode.TOPIC_ALREADY_EXISTS,
                "The topic exists here and is not a mirror. Rename or delete it, or exclude it from the pattern.",
            )
        _check_count(here, source)
        adopted = _of_topic(source, mirror, TopicState.ADOPTED)
        return [*adopted, *_raise_epochs(here, source)]
    _check_same(here, known, source)
    return [
        *_grow(image, randomness, here, source),
        *_raise_epochs(here, source),
        *_copy_settings(image, config, source),
    ]


def _create(
    image: MetadataImage, config: BrokerConfig, randomness: random.Random, mirror: Mirror, source: SourceTopic
) -> list[MetadataRecord]:
    factor = mirror.replication_factor
    if factor == -1:
        running = sum(1 for _ in image.active_brokers())
        factor = max(1, min(config[replication.DEFAULT_REPLICATION_FACTOR], running))
    wanted = NewTopic(
        name=source.name,
        num_partitions=len(source.leader_epochs),
        replication_factor=factor,
        configs=list(_copied(source).items()),
    )
    records, (created,) = decide_create_topics(image, config, [wanted], randomness)
    if created.error is not ErrorCode.NONE:
        raise Refusal(created.error, created.message or created.error.name)
    first, *rest = records
    return [
        first,
        *_of_topic(source, mirror, TopicState.MIRRORING),  # before its partitions: they are born read-only
        *(_ahead(each, source) if isinstance(each, PartitionRecord) else each for each in rest),
    ]


def _ahead(record: PartitionRecord, source: SourceTopic) -> PartitionRecord:
    epoch = max(0, source.leader_epochs[record.partition_id]) + EPOCHS_AHEAD
    return msgspec.structs.replace(record, leader_epoch=epoch)


def _check_same(here: Topic, known: MirroredTopic, source: SourceTopic) -> None:
    ids = {known.source_topic_id, source.topic_id} - {_NO_ID}
    if len(ids) > 1:
        raise Refusal(
            ErrorCode.INCONSISTENT_TOPIC_ID,
            "The topic was deleted at the source and created again. Delete it here to copy the new one, or promote "
            "the mirror to keep the old one.",
        )
    _check_count(here, source)


def _check_count(here: Topic, source: SourceTopic) -> None:
    if len(source.leader_epochs) < len(here.partitions):
        raise Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic has {len(here.partitions)} partitions here and {len(source.leader_epochs)} at the source: it "
            "is another topic.",
        )


def _grow(
    image: MetadataImage, randomness: random.Random, here: Topic, source: SourceTopic
) -> list[MetadataRecord]:
    count = len(source.leader_epochs)
    if count == len(here.partitions):
        return []
    wanted = NewPartitions(name=source.name, count=count)
    records, (grown,) = decide_create_partitions(image, [wanted], randomness, is_for_mirror=True)
    if grown.error is not ErrorCode.NONE:
        raise Refusal(grown.error, grown.message or grown.error.name)
    return [_ahead(each, source) if isinstance(each, PartitionRecord) else each for each in records]


def _raise_epochs(here: Topic, source: SourceTopic) -> Iterable[MetadataRecord]:
    for number, partition in here.partitions.items():
        epoch = source.leader_epochs[number]
        if partition.leader_epoch < epoch:
            yield with_leader_epoch(here.topic_id, number, partition, epoch + EPOCHS_AHEAD)


def with_leader_epoch(
    topic_id: bytes, number: int, partition: Partition, leader_epoch: int
) -> PartitionRecord:
    """The record that begins this leader epoch with the same leader. A change record only adds one to the epoch."""
    after = msgspec.structs.replace(
        partition, leader_epoch=leader_epoch, partition_epoch=partition.partition_epoch + 1
    )
    return partition_record(topic_id, number, after)


def _copied(source: SourceTopic) -> dict[str, str]:
    """The settings that follow the source: those that exist here and are not about one cluster's replicas."""
    return {
        name: value
        for name, value in source.settings.items()
        if name in TOPIC and name not in _LOCAL_SETTINGS
    }


def _copy_settings(
    image: MetadataImage, config: BrokerConfig, source: SourceTopic
) -> Iterable[MetadataRecord]:
    before = image.topic_settings(source.name)
    local = {name: value for name, value in before.items() if name in _LOCAL_SETTINGS}
    after = {**_copied(source), **local}
    if after == before:
        return []
    changes = [SettingChange(name, Operation.SET, value) for name, value in after.items()]
    resource = ResourceChanges(resource_type=ResourceType.TOPIC, resource_name=source.name, changes=changes)
    records, (altered,) = decide_alter_configs(image, config, [resource])
    if altered.error is not ErrorCode.NONE:
        raise Refusal(altered.error, f"Its settings cannot be copied: {altered.message}")
    return records


def _of_topic(source: SourceTopic, mirror: Mirror, state: TopicState) -> list[MetadataRecord]:
    values = {
        OF_MIRROR: mirror.name,
        SOURCE_TOPIC_ID: source.topic_id.hex(),
        mirrors.STATE: state.value,
        OUTCOME: None,
    }
    return [
        ConfigRecord(resource_type=MIRRORED_TOPIC, resource_name=source.name, name=name, value=value)
        for name, value in values.items()
    ]


def _of_mirror(name: str, key: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=MIRROR, resource_name=name, name=key, value=value)


def decide_adopted(image: MetadataImage, name: str, same: Collection[tuple[str, int]]) -> Decision[None]:
    """Adopted topics of which every partition has only records of the source are ordinary mirrors from now on."""
    records: list[MetadataRecord] = []
    for each in image.mirrored_topics(name):
        topic = image.topic(each.topic)
        if each.state is not TopicState.ADOPTED or topic is None:
            continue
        if all((topic.name, number) in same for number in topic.partitions):
            records.append(
                ConfigRecord(
                    resource_type=MIRRORED_TOPIC,
                    resource_name=topic.name,
                    name=mirrors.STATE,
                    value=TopicState.MIRRORING.value,
                )
            )
    return Decision(records, None)
