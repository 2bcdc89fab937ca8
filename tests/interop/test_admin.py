"""Topics are created, changed and deleted through each client's own admin API."""

from collections.abc import Callable

import pytest

from tests.interop.conftest import Clients
from tests.interop.model import Message, RequestRefused
from tests.support.broker import BrokerProcess

ADMINS = ("confluent-kafka", "kafka-python", "aiokafka", "kafkajs", "platformatic")
ONE_HOUR_MS = 3_600_000

with_each_admin = pytest.mark.parametrize("name", ADMINS)


@with_each_admin
def test_a_topic_is_created_listed_described_and_deleted(name: str, clients: Clients) -> None:
    admin = clients.admin(name)
    topic = f"life-{name}"
    admin.create_topic(topic, 3, {"retention.ms": "12345", "cleanup.policy": "compact"})
    assert topic in admin.topics()
    assert admin.partition_count(topic) == 3
    config = admin.topic_config(topic)
    assert config["retention.ms"] == "12345"
    assert config["cleanup.policy"] == "compact"
    assert config["max.message.bytes"] == "1048588", "an unset property has Kafka's default"
    admin.delete_topic(topic)
    assert topic not in admin.topics()


@with_each_admin
def test_a_topic_that_exists_is_refused(name: str, clients: Clients, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    admin = clients.admin(name)
    if name == "kafkajs":  # it answers false instead of raising
        admin.create_topic(topic, 1, {})
        assert admin.partition_count(topic) == 1
        return
    with pytest.raises(RequestRefused, match=r"(?i)already.?exists"):
        admin.create_topic(topic, 1, {})


@with_each_admin
def test_a_topic_with_a_bad_name_or_setting_is_refused(name: str, clients: Clients) -> None:
    admin = clients.admin(name)
    with pytest.raises(RequestRefused):
        admin.create_topic("no spaces please", 1, {})
    with pytest.raises(RequestRefused):
        admin.create_topic(f"bad-setting-{name}", 1, {"retention.ms": "soon"})
    assert f"bad-setting-{name}" not in admin.topics()


@with_each_admin
def test_partitions_are_added_and_used_at_once(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    admin = clients.admin(name)
    admin.create_partitions(topic, 5)
    assert admin.partition_count(topic) == 5
    clients[name].produce(topic, [Message(value=b"in the new one")], partition=4)
    (got,) = clients[name].consume(topic, 1, partition=4)
    assert got.value == b"in the new one"
    with pytest.raises(RequestRefused):
        admin.create_partitions(topic, 3)


@with_each_admin
def test_a_topics_configuration_is_changed(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    admin = clients.admin(name)
    admin.set_topic_config(topic, {"retention.ms": "777", "segment.bytes": "1048576"})
    config = admin.topic_config(topic)
    assert config["retention.ms"] == "777"
    assert config["segment.bytes"] == "1048576"
    with pytest.raises(RequestRefused):
        admin.set_topic_config(topic, {"retention.ms": "never"})
    assert admin.topic_config(topic)["retention.ms"] == "777"


@with_each_admin
def test_records_are_deleted_up_to_an_offset(
    name: str, clients: Clients, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    clients[name].produce(topic, [Message(value=b"%d" % n) for n in range(10)])
    admin = clients.admin(name)
    assert admin.offsets(topic, 0) == (0, 10)
    admin.delete_records(topic, 0, 4)
    assert admin.offsets(topic, 0) == (4, 10)
    assert [m.value for m in clients[name].consume(topic, 6, offset=4)] == [b"%d" % n for n in range(4, 10)]


@with_each_admin
def test_offsets_are_found_by_time(name: str, clients: Clients, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    start_ms = 1_700_000_000_000
    clients[name].produce(
        topic, [Message(value=b"m", timestamp_ms=start_ms + n * ONE_HOUR_MS) for n in range(6)]
    )
    admin = clients.admin(name)
    assert admin.offset_at(topic, 0, start_ms) == 0
    assert admin.offset_at(topic, 0, start_ms + 1) == 1
    assert admin.offset_at(topic, 0, start_ms + 4 * ONE_HOUR_MS) == 4
    # Past the last record Kafka answers -1, which kafkajs turns into the end of the log.
    assert admin.offset_at(topic, 0, start_ms + 6 * ONE_HOUR_MS) == (6 if name == "kafkajs" else -1)


@with_each_admin
def test_the_cluster_is_described(name: str, clients: Clients, shared_broker: BrokerProcess) -> None:
    cluster = clients.admin(name).cluster()
    ((node_id, host, port),) = cluster.brokers
    assert (host, port) == ("127.0.0.1", shared_broker.port)
    assert cluster.controller_id == node_id
    assert cluster.cluster_id


def test_all_admins_see_the_same_cluster(clients: Clients) -> None:
    assert len({clients.admin(name).cluster() for name in ADMINS}) == 1


def test_kcat_lists_topics_partitions_offsets_and_brokers(
    clients: Clients, new_topic: Callable[..., str], shared_broker: BrokerProcess
) -> None:
    admin = clients.kcat_admin()
    topic = new_topic(4)
    start_ms = 1_700_000_000_000
    clients["confluent-kafka"].produce(
        topic, [Message(value=b"m", timestamp_ms=start_ms + n * ONE_HOUR_MS) for n in range(6)]
    )
    assert topic in admin.topics()
    assert admin.partition_count(topic) == 4
    assert admin.offsets(topic, 0) == (0, 6)
    assert admin.offset_at(topic, 0, start_ms + 1) == 1
    cluster = admin.cluster()
    assert [(host, port) for _, host, port in cluster.brokers] == [("127.0.0.1", shared_broker.port)]
