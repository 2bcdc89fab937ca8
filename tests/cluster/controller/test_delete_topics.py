from penstock.cluster.controller.delete_topics import TopicDeleted, TopicToDelete, decide_delete_topics
from penstock.cluster.metadata.image import MetadataImage
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import RemoveTopicRecord
from tests.cluster.support import CONFIG, image_of, with_topic

UNKNOWN = b"?" * 16


def results(
    image: MetadataImage, *topics: TopicToDelete, config: BrokerConfig = CONFIG
) -> list[TopicDeleted]:
    return decide_delete_topics(image, config, topics).result


def test_a_topic_is_deleted_by_name_or_by_id_and_the_answer_has_both() -> None:
    image = image_of()
    first, second = with_topic(image, "a"), with_topic(image, "b")
    decision = decide_delete_topics(image, CONFIG, [TopicToDelete(name="a"), TopicToDelete(topic_id=second)])
    assert decision.records == [RemoveTopicRecord(topic_id=first), RemoveTopicRecord(topic_id=second)]
    assert decision.result == [
        TopicDeleted(name="a", topic_id=first),
        TopicDeleted(name="b", topic_id=second),
    ]


def test_an_unknown_topic_is_answered_by_name_or_by_id_as_it_was_requested() -> None:
    by_name, by_id = results(image_of(), TopicToDelete(name="x"), TopicToDelete(topic_id=UNKNOWN))
    assert (by_name.error, by_name.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "x")
    assert (by_id.error, by_id.name, by_id.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, UNKNOWN)


def test_nothing_is_deleted_when_deletion_is_disabled() -> None:
    image = image_of()
    with_topic(image, "a")
    decision = decide_delete_topics(
        image, BrokerConfig({"delete.topic.enable": "false"}), [TopicToDelete(name="a")]
    )
    assert decision.records == []
    assert decision.result[0].error is ErrorCode.TOPIC_DELETION_DISABLED


def test_a_topic_is_given_by_name_or_by_id_and_not_by_both() -> None:
    image = image_of()
    topic_id = with_topic(image, "a")
    neither, both = results(image, TopicToDelete(), TopicToDelete(name="a", topic_id=topic_id))
    assert (neither.error, neither.message) == (
        ErrorCode.INVALID_REQUEST,
        "Neither topic name nor id were specified.",
    )
    assert (both.error, both.message) == (
        ErrorCode.INVALID_REQUEST,
        "You may not specify both topic name and topic id.",
    )


def test_a_topic_named_twice_is_refused_once_and_kept() -> None:
    image = image_of()
    topic_id = with_topic(image, "a")
    twice = decide_delete_topics(image, CONFIG, [TopicToDelete(name="a")] * 2)
    assert twice.records == []
    assert [(each.error, each.message) for each in twice.result] == [
        (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    ]
    by_id = results(image, TopicToDelete(topic_id=topic_id), TopicToDelete(topic_id=topic_id))
    assert [each.message for each in by_id] == ["Duplicate topic id."]


def test_a_topic_named_once_by_name_and_once_by_id_is_refused_once_and_kept() -> None:
    image = image_of()
    topic_id = with_topic(image, "a")
    decision = decide_delete_topics(
        image, CONFIG, [TopicToDelete(topic_id=topic_id), TopicToDelete(name="a")]
    )
    assert decision.records == []
    assert [(each.name, each.topic_id, each.error) for each in decision.result] == [
        ("a", topic_id, ErrorCode.INVALID_REQUEST)
    ]
