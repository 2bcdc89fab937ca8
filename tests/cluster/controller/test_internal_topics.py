import random

import pytest

from penstock.cluster.controller.create_topics import NewTopic, decide_create_topics
from penstock.cluster.controller.internal_topics import auto_created_topic
from penstock.cluster.metadata.topic_names import INTERNAL_TOPICS, SINK_DECISIONS
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from tests.cluster.support import CONFIG, image_of

COORDINATOR_TOPICS = sorted(INTERNAL_TOPICS - {SINK_DECISIONS})


@pytest.mark.parametrize("name", COORDINATOR_TOPICS)
@pytest.mark.parametrize(("brokers", "factor"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_a_coordinators_topic_has_as_many_replicas_as_brokers_up_to_three(
    name: str, brokers: int, factor: int
) -> None:
    topic = auto_created_topic(image_of(brokers=brokers), CONFIG, name)
    assert (topic.num_partitions, topic.replication_factor) == (50, factor)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_topics_whose_records_replace_earlier_ones_are_compacted(name: str) -> None:
    assert dict(auto_created_topic(image_of(), CONFIG, name).configs)["cleanup.policy"] == "compact"


def test_share_group_state_is_kept_until_its_coordinator_deletes_records() -> None:
    topic = auto_created_topic(image_of(brokers=3), CONFIG, "__share_group_state")
    assert dict(topic.configs) == {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "min.insync.replicas": "2",
        "retention.ms": "-1",
        "segment.bytes": "104857600",
    }


@pytest.mark.parametrize("name", COORDINATOR_TOPICS)
def test_a_coordinators_topic_can_be_created_on_a_single_node(name: str) -> None:
    image = image_of()
    _, (result,) = decide_create_topics(
        image, CONFIG, [auto_created_topic(image, CONFIG, name)], random.Random(0)
    )
    assert result.error is ErrorCode.NONE


def test_the_in_sync_minimum_is_no_more_than_the_replicas() -> None:
    one = auto_created_topic(image_of(), CONFIG, "__transaction_state")
    three = auto_created_topic(image_of(brokers=3), CONFIG, "__transaction_state")
    assert dict(one.configs)["min.insync.replicas"] == "1"
    assert dict(three.configs)["min.insync.replicas"] == "2"


def test_the_settings_define_the_partition_count_of_a_coordinators_topic() -> None:
    config = BrokerConfig({"offsets.topic.num.partitions": "4", "offsets.topic.segment.bytes": "1000"})
    topic = auto_created_topic(image_of(), config, "__consumer_offsets")
    assert topic.num_partitions == 4
    assert dict(topic.configs)["segment.bytes"] == "1000"


def test_any_other_topic_is_created_with_the_brokers_defaults() -> None:
    assert auto_created_topic(image_of(), CONFIG, "orders") == NewTopic(name="orders")
