import pytest

from penstock.config.broker import BrokerConfig
from penstock.config.overrides import (
    topic_config,
    validate_dynamic_broker_settings,
    validate_group_overrides,
    validate_topic_overrides,
)
from penstock.config.property import ConfigError
from penstock.config.topic import TopicConfig

BROKER = BrokerConfig()


def test_a_topic_without_settings_on_a_broker_without_settings_has_the_defaults_of_the_struct() -> None:
    assert topic_config(BROKER, {}) == TopicConfig()


def test_a_topics_own_setting_wins_over_the_brokers() -> None:
    broker = BrokerConfig({"log.segment.bytes": "1000", "log.retention.segments": "4"})
    made = topic_config(broker, {"segment.bytes": "2000", "cleanup.policy": "compact,delete"})
    assert made.segment_bytes == 2000
    assert made.retention_segments == 4
    assert made.cleanup_policy == {"compact", "delete"}


@pytest.mark.parametrize(
    ("settings", "expected_ms"),
    [
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_the_finest_unit_of_broker_retention_that_is_set_counts(
    settings: dict[str, str], expected_ms: int
) -> None:
    assert topic_config(BrokerConfig(settings), {}).retention_ms == expected_ms


def test_a_policy_named_twice_counts_once_and_an_empty_policy_keeps_everything() -> None:
    """KIP-1161."""
    assert topic_config(BROKER, {"cleanup.policy": "delete,delete"}).cleanup_policy == {"delete"}
    assert topic_config(BROKER, {"cleanup.policy": ""}).cleanup_policy == frozenset()


def test_an_override_unknown_to_this_version_is_skipped() -> None:
    assert topic_config(BROKER, {"future": "1", "segment.bytes": "huge"}) == TopicConfig()


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"retention.msec": "1"}, r"Unknown topic config name: retention.msec. Did you mean retention.ms\?"),
        ({"xyzzy": "1"}, "Unknown topic config name: xyzzy$"),
        (
            {"retention.ms": "-2"},
            "Invalid value -2 for configuration retention.ms: Value must be at least -1",
        ),
        ({"cleanup.policy": "shred"}, "String must be one of: compact, delete"),
        ({"compression.gzip.level": "0"}, "Value must be between 1 and 9 or equal to -1"),
        (
            {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"},
            r"min.compaction.lag.ms \(9\) > max.compaction",
        ),
        ({"remote.storage.enable": "true"}, "Tiered Storage functionality is disabled in the broker"),
        (
            {"leader.replication.throttled.replicas": "a:b"},
            r"Expected \* or a list of partition:broker pairs",
        ),
    ],
)
def test_an_invalid_topic_setting_is_refused(overrides: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        validate_topic_overrides(BROKER, overrides)


def test_valid_topic_settings_are_accepted() -> None:
    overrides = {
        "cleanup.policy": "",
        "compression.gzip.level": "-1",
        "follower.replication.throttled.replicas": "0:1,1:2",
        "leader.replication.throttled.replicas": "*",
        "segment.records": "10",
    }
    validate_topic_overrides(BROKER, overrides)


def test_a_topics_compaction_lag_is_checked_against_the_brokers_if_it_sets_only_one() -> None:
    with pytest.raises(ConfigError, match="conflict topic config setting"):
        validate_topic_overrides(
            BrokerConfig({"log.cleaner.max.compaction.lag.ms": "5"}), {"min.compaction.lag.ms": "6"}
        )


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"consumer.session.timeout": "1"}, r"Did you mean consumer.session.timeout.ms\?"),
        (
            {"consumer.session.timeout.ms": "44999"},
            "must be greater than or equal to group.consumer.min.session",
        ),
        (
            {"consumer.heartbeat.interval.ms": "15001"},
            "must be less than or equal to group.consumer.max.heartbeat",
        ),
        ({"share.record.lock.duration.ms": "5"}, "Value must be at least 1000"),
        (
            {"share.record.lock.duration.ms": "60001"},
            "must be less than or equal to group.share.max.record.lock.duration.ms",
        ),
        ({"share.session.timeout.ms": "60001"}, "must be less than or equal to group.share.max.session"),
        (
            {"share.heartbeat.interval.ms": "4999"},
            "must be greater than or equal to group.share.min.heartbeat",
        ),
        (
            {"share.assignment.interval.ms": "15001"},
            "must be less than or equal to group.share.max.assignment",
        ),
        (
            {"share.delivery.count.limit": "11"},
            "must be less than or equal to group.share.max.delivery.count",
        ),
        (
            {"share.partition.max.record.locks": "4001"},
            "must be less than or equal to group.share.max.partition.max.record.locks",
        ),
        ({"share.auto.offset.reset": "sometime"}, "share.auto.offset.reset"),
        ({"share.isolation.level": "read_none"}, "share.isolation.level"),
    ],
)
def test_a_group_setting_outside_the_brokers_bounds_is_refused(
    overrides: dict[str, str], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        validate_group_overrides(BROKER, overrides)


def test_valid_group_settings_are_accepted() -> None:
    validate_group_overrides(
        BROKER, {"consumer.session.timeout.ms": "50000", "share.delivery.count.limit": "3"}
    )


def test_a_groups_session_timeout_must_exceed_its_heartbeat_interval() -> None:
    broker = BrokerConfig({"group.consumer.max.heartbeat.interval.ms": "50000"})
    with pytest.raises(
        ConfigError, match=r"consumer.session.timeout.ms must be greater than consumer.heartbeat"
    ):
        validate_group_overrides(broker, {"consumer.heartbeat.interval.ms": "45000"})


@pytest.mark.parametrize("one_broker", [True, False])
def test_a_read_only_setting_cannot_change_while_running(one_broker: bool) -> None:
    with pytest.raises(
        ConfigError, match=r"^Cannot update these configs dynamically: \[log.dirs, node.id\]$"
    ):
        validate_dynamic_broker_settings(
            {"node.id": "5", "max.connections": "3", "log.dirs": "x"}, one_broker=one_broker
        )


@pytest.mark.parametrize(
    "name", ["ssl.client.auth", "listener.name.a.ssl.keystore.location", "listener.name.a.x"]
)
def test_a_per_broker_setting_cannot_change_for_all_brokers_at_once(name: str) -> None:
    validate_dynamic_broker_settings({name: "none"}, one_broker=True)
    with pytest.raises(
        ConfigError,
        match="^Cannot update these configs at default cluster level, broker id must be specified: "
        rf"\[{name}\]$",
    ):
        validate_dynamic_broker_settings({name: "none"}, one_broker=False)


@pytest.mark.parametrize("name", ["a.plugins.setting", "listener.name.a.max.connections"])
@pytest.mark.parametrize("one_broker", [True, False])
def test_an_unknown_name_and_a_limit_of_a_listener_can_be_set_for_one_broker_and_for_all(
    name: str, one_broker: bool
) -> None:
    validate_dynamic_broker_settings({name: "5"}, one_broker=one_broker)


def test_a_dynamic_setting_is_checked_like_a_static_one() -> None:
    with pytest.raises(ConfigError, match="Value must be at least 0"):
        validate_dynamic_broker_settings({"max.connections": "-3"}, one_broker=False)
