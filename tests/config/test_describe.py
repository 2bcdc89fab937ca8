import pytest

from penstock.config.broker import BrokerConfig, ConfigSource
from penstock.config.describe import (
    Synonym,
    describe_broker,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from penstock.config.property import Kind
from penstock.config.table import BROKER, TOPIC


def test_a_topics_own_setting_is_described_with_its_overridden_synonyms() -> None:
    broker = BrokerConfig({"log.retention.hours": "2"}, cluster_wide={"log.retention.ms": "7"})
    (retention,) = describe_topic(broker, {"retention.ms": "9"}, ["retention.ms"])
    assert (retention.value, retention.source, retention.kind) == ("9", ConfigSource.DYNAMIC_TOPIC, Kind.LONG)
    assert retention.synonyms == (
        Synonym("retention.ms", "9", ConfigSource.DYNAMIC_TOPIC),
        Synonym("log.retention.ms", "7", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        Synonym("log.retention.hours", "2", ConfigSource.STATIC_BROKER),
        Synonym("log.retention.hours", "168", ConfigSource.DEFAULT),
    )


def test_a_topic_setting_inherited_from_the_broker_is_described_in_the_topics_unit() -> None:
    (retention,) = describe_topic(BrokerConfig({"log.retention.hours": "2"}), {}, ["retention.ms"])
    assert retention.value == "7200000"
    # Kafka 4.3 reports only the first name and its later synonyms.
    assert (retention.source, retention.synonyms) == (ConfigSource.DEFAULT, ())


def test_a_topic_setting_without_a_broker_setting_shows_its_default() -> None:
    (throttled,) = describe_topic(BrokerConfig(), {}, ["leader.replication.throttled.replicas"])
    assert (throttled.value, throttled.source, throttled.synonyms) == ("", ConfigSource.DEFAULT, ())


def test_without_names_every_setting_is_described_and_unknown_names_are_skipped() -> None:
    assert [each.name for each in describe_topic(BrokerConfig(), {})] == list(TOPIC)
    assert describe_topic(BrokerConfig(), {}, ["no.such"]) == []
    assert [each.name for each in describe_broker(BrokerConfig())] == list(BROKER)


def test_a_secret_is_never_described() -> None:
    broker = BrokerConfig({"ssl.key.password": "hunter2", "listener.name.a.ssl.key.password": "hunter3"})
    shown = [each for each in describe_broker(broker) if each.name.endswith("ssl.key.password")]
    assert [each.name for each in shown] == ["ssl.key.password", "listener.name.a.ssl.key.password"]
    assert all(each.sensitive and each.value is None for each in shown)
    assert {synonym.value for each in shown for synonym in each.synonyms} == {None}


def test_an_unknown_setting_is_listed_without_its_value() -> None:
    broker = BrokerConfig(cluster_wide={"a.plugins.password": "hunter2"}, per_broker={"another": "hunter3"})
    for described, source in (
        (describe_broker(broker, ["a.plugins.password"]), ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (describe_cluster_defaults(broker), ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (describe_broker(broker, ["another"]), ConfigSource.DYNAMIC_BROKER),
    ):
        (shown,) = described
        assert (shown.value, shown.source, shown.kind) == (None, source, 0)
        assert (shown.read_only, shown.sensitive) == (True, True)
        assert [(each.name, each.value, each.source) for each in shown.synonyms] == [
            (shown.name, None, source)
        ]


def test_a_setting_of_one_listener_is_described_as_read_only_as_kafka_does() -> None:
    (shown,) = describe_broker(
        BrokerConfig(per_broker={"listener.name.a.max.connections": "3"}), ["listener.name.a.max.connections"]
    )
    assert (shown.value, shown.read_only, shown.kind) == ("3", True, Kind.INT)


def test_a_broker_setting_is_described_with_its_update_mode() -> None:
    shown = {each.name: each.read_only for each in describe_broker(BrokerConfig())}
    assert shown["node.id"]
    assert not shown["max.connections"]


def test_a_broker_setting_shows_its_own_value_and_its_synonyms() -> None:
    broker = BrokerConfig({"log.retention.minutes": "3"})
    ms, minutes = describe_broker(broker, ["log.retention.ms", "log.retention.minutes"])
    assert (ms.value, minutes.value) == (None, "3")
    assert ms.synonyms == ()
    assert [each.name for each in minutes.synonyms] == ["log.retention.minutes", "log.retention.hours"]


def test_the_cluster_defaults_are_the_settings_of_all_brokers() -> None:
    broker = BrokerConfig({"max.connections": "1"}, cluster_wide={"max.connections": "2"}, per_broker={})
    (shown,) = describe_cluster_defaults(broker)
    assert (shown.name, shown.value, shown.source) == (
        "max.connections",
        "2",
        ConfigSource.DYNAMIC_DEFAULT_BROKER,
    )
    assert describe_cluster_defaults(broker, ["other"]) == []


def test_a_group_setting_is_described_with_its_source() -> None:
    session, heartbeat = describe_group(
        BrokerConfig({"group.consumer.heartbeat.interval.ms": "6000"}),
        {"consumer.session.timeout.ms": "50000"},
        ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"],
    )
    assert (session.value, session.source) == ("50000", ConfigSource.GROUP)
    assert (heartbeat.value, heartbeat.source) == ("6000", ConfigSource.STATIC_BROKER)


@pytest.mark.parametrize("settings", [{}, {"broker.id": "1"}, {"node.id": "1"}])
def test_the_id_of_a_broker_is_described_under_both_names(settings: dict[str, str]) -> None:
    described = describe_broker(BrokerConfig(settings), ["node.id", "broker.id"])
    assert {(each.name, each.value, each.source) for each in described} == {
        ("node.id", "1", ConfigSource.STATIC_BROKER),
        ("broker.id", "1", ConfigSource.STATIC_BROKER),
    }
