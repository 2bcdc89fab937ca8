import random

import pytest

from penstock.cluster.controller.create_topics import NewTopic, TopicCreated, decide_create_topics
from penstock.cluster.metadata.image import MetadataImage
from penstock.config.broker import BrokerConfig, ConfigSource
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    MetadataRecord,
    PartitionRecord,
    TopicRecord,
)
from tests.cluster.support import CONFIG, commit, image_of, with_topic


def decide(
    image: MetadataImage, *topics: NewTopic, config: BrokerConfig = CONFIG
) -> tuple[list[MetadataRecord], list[TopicCreated]]:
    return decide_create_topics(image, config, topics, random.Random(1))


def refusal(
    image: MetadataImage, topic: NewTopic, config: BrokerConfig = CONFIG
) -> tuple[ErrorCode, str | None]:
    records, (result,) = decide(image, topic, config=config)
    assert records == []
    assert (result.topic_id, result.configs) == (bytes(16), ())
    return result.error, result.message


def test_a_topic_is_written_as_itself_its_settings_and_its_partitions_in_that_order() -> None:
    topic = NewTopic(name="t", num_partitions=2, configs=[("retention.ms", "5")])
    records, (result,) = decide(image_of(), topic)
    assert [type(record) for record in records] == [
        TopicRecord,
        ConfigRecord,
        PartitionRecord,
        PartitionRecord,
    ]
    assert (result.error, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 2, 1)


def test_a_new_partition_is_led_by_its_first_replica_in_epoch_0() -> None:
    image = image_of(brokers=3)
    with_topic(image, "t", factor=3)
    partition = image.partition("t", 0)
    assert partition is not None
    assert partition.leader == partition.replicas[0]
    assert partition.isr == partition.replicas
    assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


def test_the_result_carries_every_setting_sorted_by_name_with_its_source() -> None:
    _, (result,) = decide(image_of(), NewTopic(name="t", configs=[("retention.ms", "5")]))
    names = [each.name for each in result.configs]
    assert names == sorted(names)
    by_name = {each.name: (each.value, each.source) for each in result.configs}
    assert by_name["retention.ms"] == ("5", ConfigSource.DYNAMIC_TOPIC)
    assert by_name["segment.bytes"] == ("1073741824", ConfigSource.DEFAULT)


def test_minus_one_stands_for_the_brokers_defaults() -> None:
    config = BrokerConfig({"num.partitions": "3", "default.replication.factor": "2"})
    _, (result,) = decide(image_of(brokers=2), NewTopic(name="t"), config=config)
    assert (result.num_partitions, result.replication_factor) == (3, 2)


def test_one_bad_topic_does_not_stop_the_others() -> None:
    records, results = decide(image_of(), NewTopic(name="bad name"), NewTopic(name="good"))
    assert [result.error for result in results] == [ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.NONE]
    assert records[0] == TopicRecord(name="good", topic_id=results[1].topic_id)


def test_topic_ids_differ_and_come_from_the_given_randomness() -> None:
    _, (one, two) = decide(image_of(), NewTopic(name="a"), NewTopic(name="b"))
    _, (again, _) = decide(image_of(), NewTopic(name="a"), NewTopic(name="b"))
    assert one.topic_id != two.topic_id
    assert one.topic_id == again.topic_id


def test_a_name_in_use_is_refused() -> None:
    image = image_of()
    with_topic(image, "t")
    assert refusal(image, NewTopic(name="t")) == (ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")


def test_a_name_that_differs_from_one_in_use_only_in_dot_and_underscore_is_refused() -> None:
    image = image_of()
    with_topic(image, "a.b")
    code, message = refusal(image, NewTopic(name="a_b"))
    assert code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert message == "Topic 'a_b' collides with existing topic: a.b"


def test_an_invalid_name_is_refused() -> None:
    code, message = refusal(image_of(), NewTopic(name=".."))
    assert (code, message) == (
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "Topic name is invalid: '..' is not allowed",
    )


def test_the_metadata_topic_cannot_be_created() -> None:
    assert refusal(image_of(), NewTopic(name="__cluster_metadata")) == (
        ErrorCode.INVALID_REQUEST,
        "Creation of internal topic __cluster_metadata is prohibited.",
    )


def test_a_topic_named_twice_in_one_request_is_refused_once_and_not_created() -> None:
    records, results = decide(
        image_of(), NewTopic(name="t"), NewTopic(name="u"), NewTopic(name="t", num_partitions=2)
    )
    assert [(each.name, each.error, each.message) for each in results] == [
        ("t", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        ("u", ErrorCode.NONE, None),
    ]
    assert [record.name for record in records if isinstance(record, TopicRecord)] == ["u"]


@pytest.mark.parametrize("count", [0, -2])
def test_a_partition_count_that_is_not_positive_is_refused(count: int) -> None:
    assert refusal(image_of(), NewTopic(name="t", num_partitions=count)) == (
        ErrorCode.INVALID_PARTITIONS,
        "Number of partitions was set to an invalid non-positive value.",
    )


@pytest.mark.parametrize("factor", [0, -2])
def test_a_replication_factor_that_is_not_positive_is_refused(factor: int) -> None:
    assert refusal(image_of(), NewTopic(name="t", replication_factor=factor)) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    )


def test_more_replicas_than_brokers_are_refused() -> None:
    code, message = refusal(image_of(), NewTopic(name="t", replication_factor=3))
    assert code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert message == (
        "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because "
        "only 1 broker(s) are registered."
    )


def test_no_topic_is_created_while_all_brokers_are_shutting_down() -> None:
    image = image_of()
    epoch = image.brokers[1].epoch
    commit(image, [BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, in_controlled_shutdown=1)])
    assert refusal(image, NewTopic(name="t")) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "Unable to replicate the partition 1 time(s): All brokers are currently fenced or in controlled shutdown.",
    )


def test_more_partitions_than_fit_in_one_batch_of_the_metadata_log_are_refused() -> None:
    code, _ = refusal(image_of(), NewTopic(name="t", num_partitions=10_001))
    assert code is ErrorCode.POLICY_VIOLATION
    records, results = decide(image_of(), *(NewTopic(name=name, num_partitions=6000) for name in "ab"))
    assert [each.error for each in results] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION]
    assert len(records) == 6001


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([("retention.ms", None), ("x", None)], "Null value not supported for topic configs: retention.ms,x"),
        ([("no.such", "1")], "Unknown topic config name: no.such"),
        (
            [("retention.ms", "soon")],
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
    ],
)
def test_a_bad_setting_is_refused(configs: list[tuple[str, str | None]], message: str) -> None:
    assert refusal(image_of(), NewTopic(name="t", configs=configs)) == (ErrorCode.INVALID_CONFIG, message)


def test_a_client_may_assign_partitions_to_brokers() -> None:
    image = image_of(brokers=3)
    assignments = [(1, [3, 1]), (0, [2, 3])]
    records, (result,) = decide(image, NewTopic(name="t", assignments=assignments))
    commit(image, records)
    topic = image.topic("t")
    assert topic is not None
    assert {number: each.replicas for number, each in topic.partitions.items()} == {0: (2, 3), 1: (3, 1)}
    assert (result.num_partitions, result.replication_factor) == (2, 2)


def test_a_replica_on_a_fenced_broker_starts_out_of_sync_and_does_not_lead() -> None:
    image = image_of(brokers=2, fenced=[2])
    records, _ = decide(image, NewTopic(name="t", assignments=[(0, [2, 1])]))
    commit(image, records)
    partition = image.partition("t", 0)
    assert partition is not None
    assert (partition.replicas, partition.isr, partition.leader) == ((2, 1), (1,), 1)


@pytest.mark.parametrize(
    ("topic", "code", "message"),
    [
        (
            NewTopic(name="t", assignments=[(0, [1])], num_partitions=1),
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            NewTopic(name="t", assignments=[(0, [1])], replication_factor=1),
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ),
        (
            NewTopic(name="t", assignments=[(0, [1]), (0, [2])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            NewTopic(name="t", assignments=[(0, [1]), (2, [1])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            NewTopic(name="t", assignments=[(0, [])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            NewTopic(name="t", assignments=[(0, [1, 9])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            NewTopic(name="t", assignments=[(0, [2, 1, 2])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes the broker 2 more than once.",
        ),
        (
            NewTopic(name="t", assignments=[(0, [1]), (1, [1, 2])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            (
                "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent "
                "with previous partitions, which have 1 replica(s)."
            ),
        ),
        (
            NewTopic(name="t", assignments=[(0, [3])]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            (
                "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled "
                "shutdown."
            ),
        ),
    ],
)
def test_an_invalid_assignment_is_refused(topic: NewTopic, code: ErrorCode, message: str) -> None:
    assert refusal(image_of(brokers=3, fenced=[3]), topic) == (code, message)
