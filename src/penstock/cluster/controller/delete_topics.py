"""Decides DeleteTopics: topics given by name or by id."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from penstock.cluster.controller.decision import Charge, Decision, Refusal, charge_for, no_charge
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import Topic
from penstock.config.broker import BrokerConfig
from penstock.config.settings import replication
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import MetadataRecord, RemoveTopicRecord
from penstock.protocol.wire import ZERO_UUID

UNKNOWN_NAME = "This server does not host this topic-partition."
UNKNOWN_ID = "This server does not host this topic ID."
NAMED_TWICE = "The provided topic name maps to an ID that was already supplied."


class TopicToDelete(msgspec.Struct, frozen=True, kw_only=True):
    """A topic to delete, by name or by id, not both."""

    name: str | None = None
    topic_id: bytes = ZERO_UUID


class TopicDeleted(msgspec.Struct, frozen=True, kw_only=True):
    name: str | None
    topic_id: bytes
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def decide_delete_topics(
    image: MetadataImage,
    config: BrokerConfig,
    topics: Sequence[TopicToDelete],
    charge: Charge = no_charge,
) -> Decision[list[TopicDeleted]]:
    """Decide about each topic separately. The result has the name of a topic given by id only if it exists."""
    records: list[MetadataRecord] = []
    results: list[TopicDeleted] = []
    occurrences = Counter(topics)
    given_ids = {each.topic_id for each in topics if each.name is None}
    named_twice = {  # by name and by id: both are refused
        topic.topic_id: topic.name
        for each in topics
        if each.name is not None and (topic := image.topic(each.name)) and topic.topic_id in given_ids
    }
    for wanted in dict.fromkeys(topics):
        try:
            topic = _find(image, config, wanted, occurrences[wanted])
            if topic.topic_id in named_twice:
                continue
            charge_for(charge, len(topic.partitions))
        except Refusal as refusal:
            results.append(
                TopicDeleted(
                    name=wanted.name, topic_id=wanted.topic_id, error=refusal.code, message=refusal.message
                )
            )
            continue
        records.append(RemoveTopicRecord(topic_id=topic.topic_id))
        results.append(TopicDeleted(name=topic.name, topic_id=topic.topic_id))
    results += [
        TopicDeleted(name=name, topic_id=topic_id, error=ErrorCode.INVALID_REQUEST, message=NAMED_TWICE)
        for topic_id, name in named_twice.items()
    ]
    return Decision(records, results)


def _find(image: MetadataImage, config: BrokerConfig, wanted: TopicToDelete, occurrences: int) -> Topic:
    if not config[replication.DELETE_TOPIC_ENABLE]:
        raise Refusal(ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
    if wanted.name is None and wanted.topic_id == ZERO_UUID:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if wanted.name is not None and wanted.topic_id != ZERO_UUID:
        raise Refusal(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if occurrences > 1:
        which = "id" if wanted.name is None else "name"
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Duplicate topic {which}.")
    if wanted.name is None:
        if (topic := image.topic_by_id(wanted.topic_id)) is None:
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_ID, UNKNOWN_ID)
    elif (topic := image.topic(wanted.name)) is None:
        raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_NAME)
    return topic
