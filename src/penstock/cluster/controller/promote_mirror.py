"""Decides the promotion of a mirror: its topics become ordinary topics, which clients may write.

All partitions of a topic begin the same leader epoch, above every epoch that the source has used. Records below it come
from the source, and so do their producer ids (`promoted.epoch`).
"""

from collections.abc import Sequence

from penstock.client.mirrors import STATE, ReadyPartition, encode_ready
from penstock.cluster.controller.decision import RECORDS_PER_DECISION_MAX, Decision
from penstock.cluster.controller.follow_source import with_leader_epoch
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import (
    MIRROR,
    MIRRORED_TOPIC,
    OUTCOME,
    PROMOTED_EPOCH,
    MirrorState,
    TopicState,
)
from penstock.cluster.metadata.state import Topic
from penstock.protocol.messages.metadata_records import ConfigRecord, MetadataRecord

_PROMOTABLE = (MirrorState.PROMOTING, MirrorState.FORCING)
_SETTINGS_OF_TOPIC = 3


def decide_promotion(image: MetadataImage, name: str, ready: Sequence[ReadyPartition]) -> Decision[bool]:
    """Promote the topics of which all partitions are ready. The result is whether the mirror is promoted."""
    mirror = image.mirror(name)
    if mirror is None or mirror.state not in _PROMOTABLE:
        return Decision([], False)
    reports = {(each.topic, each.partition): each for each in ready}
    records: list[MetadataRecord] = []
    is_complete = True
    for mirrored in image.mirrored_topics(name):
        topic = image.topic(mirrored.topic)
        if topic is None or not mirrored.is_read_only:
            continue
        count = len(topic.partitions) + _SETTINGS_OF_TOPIC
        of_topic = _ready_partitions(topic, reports)
        if of_topic is None or len(records) + count >= RECORDS_PER_DECISION_MAX:
            is_complete = False
            continue
        records += _promote(topic, of_topic)
    if is_complete:
        records.append(
            ConfigRecord(
                resource_type=MIRROR,
                resource_name=name,
                name=STATE,
                value=MirrorState.PROMOTED.value,
            )
        )
    return Decision(records, is_complete)


def _ready_partitions(
    topic: Topic, reports: dict[tuple[str, int], ReadyPartition]
) -> list[ReadyPartition] | None:
    """The reports of the current leaders about each partition; None if one is missing."""
    found = []
    for number, partition in topic.partitions.items():
        report = reports.get((topic.name, number))
        if report is None or report.leader_epoch != partition.leader_epoch:
            return None
        found.append(report)
    return found


def _promote(topic: Topic, ready: Sequence[ReadyPartition]) -> list[MetadataRecord]:
    epoch = max(each.leader_epoch for each in topic.partitions.values()) + 1
    values = {
        STATE: TopicState.PROMOTED.value,
        PROMOTED_EPOCH: str(epoch),
        OUTCOME: encode_ready(ready),
    }
    return [
        *(
            ConfigRecord(resource_type=MIRRORED_TOPIC, resource_name=topic.name, name=key, value=value)
            for key, value in values.items()
        ),
        *(
            with_leader_epoch(topic.topic_id, number, partition, epoch)
            for number, partition in topic.partitions.items()
        ),
    ]
