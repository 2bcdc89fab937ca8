"""Requests that only some clients have: descriptions of topics, producers, directories and offsets."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from kafka import TopicPartition as PythonTopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from tests.interop.conftest import Clients
from tests.interop.model import CALL_TIMEOUT_S, Message, RequestRefused

START_MS = 1_700_000_000_000


@pytest.fixture
def python_admin(clients: Clients) -> Iterator[Any]:
    admin = KafkaAdminClient(bootstrap_servers=clients.bootstrap)
    yield admin
    admin.close()


def test_the_record_with_the_latest_timestamp_is_found(
    clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    times = [START_MS, START_MS + 9_000, START_MS + 5_000]
    clients["confluent-kafka"].produce(topic, [Message(b"k", b"v", timestamp_ms=t) for t in times])
    admin = AdminClient({"bootstrap.servers": clients.bootstrap})
    asked = {TopicPartition(topic, 0): OffsetSpec.max_timestamp()}
    found = admin.list_offsets(asked)[TopicPartition(topic, 0)].result(CALL_TIMEOUT_S)
    assert (found.offset, found.timestamp) == (1, START_MS + 9_000)


def test_a_topic_is_described_with_its_id_leader_and_replicas(
    clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(3)
    admin = AdminClient({"bootstrap.servers": clients.bootstrap})
    found = admin.describe_topics(TopicCollection([topic]))[topic].result(CALL_TIMEOUT_S)
    assert found.name == topic
    assert not found.is_internal
    assert str(found.topic_id)
    assert [p.id for p in found.partitions] == [0, 1, 2]
    for partition in found.partitions:
        assert [node.id for node in partition.replicas] == [partition.leader.id]
        assert [node.id for node in partition.isr] == [partition.leader.id]


def test_partitions_are_described_page_by_page(
    clients: Clients, new_topic: Callable[..., str], python_admin: Any
) -> None:
    topic = new_topic(7)
    seen: list[int] = []
    cursor = None
    for _ in range(10):
        page = python_admin.describe_topic_partitions([topic], response_partition_limit=3, cursor=cursor)
        (described,) = page["topics"]
        assert described["name"] == topic
        seen += [p["partition_index"] for p in described["partitions"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == list(range(7))


def test_an_idempotent_producer_is_described(
    clients: Clients, new_topic: Callable[..., str], python_admin: Any
) -> None:
    topic = new_topic()
    clients["confluent-kafka"].produce(topic, [Message(b"k", b"v")] * 3, idempotent=True)
    described = python_admin.describe_producers([PythonTopicPartition(topic, 0)])
    assert "last_sequence': 2" in str(described) or "last_sequence=2" in str(described), described


def test_log_directories_report_the_size_of_each_partition(
    clients: Clients, new_topic: Callable[..., str], python_admin: Any
) -> None:
    topic = new_topic(2)
    clients["confluent-kafka"].produce(topic, [Message(b"k", b"x" * 10_000)])
    (broker,) = python_admin.describe_log_dirs()
    (directory,) = broker["log_dirs"]
    (found,) = [t for t in directory["topics"] if (t.get("name") or t.get("topic")) == topic]
    sizes = {p["partition_index"]: p["partition_size"] for p in found["partitions"]}
    assert sizes[0] > 10_000
    assert sizes[1] == 0
    assert directory["total_bytes"] > directory["usable_bytes"] > 0


def test_topics_with_settings_are_listed_as_resources(
    clients: Clients, new_topic: Callable[..., str], python_admin: Any
) -> None:
    topic = new_topic(retention_ms="99")
    assert topic in str(python_admin.list_config_resources())


def test_a_validated_creation_creates_nothing(clients: Clients, python_admin: Any) -> None:
    python_admin.create_topics({"only-validated": {"num_partitions": 1}}, validate_only=True)
    assert "only-validated" not in clients.setup_admin.topics()


def test_the_brokers_settings_are_described_with_their_source(clients: Clients, python_admin: Any) -> None:
    ((node_id, _, _),) = clients.setup_admin.cluster().brokers
    resource = ConfigResource(ConfigResourceType.BROKER, str(node_id))
    described = python_admin.describe_configs([resource], config_filter="all")
    (by_name,) = described.values()
    settings = by_name[str(node_id)]
    assert settings["message.max.bytes"]["value"] == "1048588"
    assert "DEFAULT" in str(settings["message.max.bytes"])


def test_deleting_an_unknown_topic_is_refused(clients: Clients) -> None:
    with pytest.raises(RequestRefused, match="UNKNOWN_TOPIC_OR_PART"):
        clients.setup_admin.delete_topic("another-unknown-topic")
