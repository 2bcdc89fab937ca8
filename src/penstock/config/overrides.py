"""Validation of a topic's and a group's own settings, and a topic's effective `TopicConfig`."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar, cast

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError, Live, Property, Value
from penstock.config.settings import group, security, topic
from penstock.config.table import (
    BROKER,
    GROUP,
    TOPIC,
    broker_property,
    is_for_one_broker,
    is_own_unknown,
    suggestion,
)
from penstock.config.topic import TopicConfig

T = TypeVar("T")


def topic_config(broker: BrokerConfig, overrides: Mapping[str, str]) -> TopicConfig:
    """The effective settings of a topic. Overrides that this version does not understand are skipped."""
    fields: dict[str, Value | frozenset[str]] = {}
    for name, prop in TOPIC.items():
        field = name.replace(".", "_")
        if field not in TopicConfig.__struct_fields__:
            continue
        value = _value(broker, prop, overrides)
        fields[field] = frozenset(value) if isinstance(value, tuple) else value
    return msgspec.convert(fields, TopicConfig)


def validate_topic_overrides(broker: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """Raise `ConfigError` when a topic cannot have these settings."""
    for name, text in overrides.items():
        if (prop := TOPIC.get(name)) is None:
            raise ConfigError(f"Unknown topic config name: {name}{suggestion(name, TOPIC)}")
        prop.parse(text)
    if overrides.get("remote.storage.enable", "").strip().lower() == "true":
        raise ConfigError(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
    made = topic_config(broker, overrides)
    if made.min_compaction_lag_ms > made.max_compaction_lag_ms:
        raise ConfigError(
            f"conflict topic config setting {topic.MIN_COMPACTION_LAG_MS.name} ({made.min_compaction_lag_ms}) > "
            f"{topic.MAX_COMPACTION_LAG_MS.name} ({made.max_compaction_lag_ms})"
        )


def group_value(broker: BrokerConfig, prop: Property[T], overrides: Mapping[str, str]) -> T:
    """The setting of a group itself, else the broker's. Overrides that this version does not understand are skipped."""
    return cast("T", _value(broker, prop, overrides))


def validate_group_overrides(broker: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """Raise `ConfigError` when a group cannot have these settings."""
    for name, text in overrides.items():
        if (prop := GROUP.get(name)) is None:
            raise ConfigError(f"Unknown group config name: {name}{suggestion(name, GROUP)}")
        prop.parse(text)
    for name, (_, low, high) in group.SECTION.bounds.items():
        prop = GROUP[name]
        value = _integer(_value(broker, prop, overrides))
        if value < broker[low]:
            raise ConfigError(f"{prop.name} must be greater than or equal to {low.name}")
        if value > broker[high]:
            raise ConfigError(f"{prop.name} must be less than or equal to {high.name}")
    for session, heartbeat in _GROUP_PAIRS:
        if _integer(_value(broker, session, overrides)) <= _integer(_value(broker, heartbeat, overrides)):
            raise ConfigError(f"{session.name} must be greater than {heartbeat.name}")


def validate_dynamic_broker_settings(settings: Mapping[str, str], *, one_broker: bool) -> None:
    """Raise `ConfigError` when these cannot be set while running, for one broker or for all (KIP-226).

    An unknown name is accepted, as in Kafka, where it may belong to a plugin. The order of the checks and the texts are
    Kafka's.
    """
    fixed = [name for name in settings if name in BROKER and BROKER[name].live is Live.READ_ONLY]
    _reject("Cannot update these configs dynamically", fixed)
    _reject(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        [name for name in settings if name in _ONLY_WITH_LISTENER],
    )
    for name, text in settings.items():
        if is_own_unknown(name):
            raise ConfigError(f"Unknown broker config name: {name}{suggestion(name, BROKER)}")
        if (prop := broker_property(name)) is not None:
            prop.parse(text)
    if not one_broker:
        _reject(
            "Cannot update these configs at default cluster level, broker id must be specified",
            [name for name in settings if is_for_one_broker(name)],
        )


def _reject(reason: str, names: Sequence[str]) -> None:
    if names:
        raise ConfigError(f"{reason}: [{', '.join(sorted(names))}]")


def _value(broker: BrokerConfig, prop: Property[object], overrides: Mapping[str, str]) -> Value:
    if (text := overrides.get(prop.name)) is not None:
        try:
            return prop.parse(text)
        except ConfigError:
            pass  # written by another version: the default is better than a crash
    return _inherited(broker)[prop.name]


@lru_cache(maxsize=16)  # an embedded cluster has several brokers in one process
def _inherited(broker: BrokerConfig) -> dict[str, Value]:
    """The values without overrides: the same for thousands of topics and groups."""
    return {prop.name: inherited_value(broker, prop) for prop in (*TOPIC.values(), *GROUP.values())}


def inherited_value(broker: BrokerConfig, prop: Property[object]) -> Value:
    for found in broker.lookup(prop.synonyms):
        return in_topic_unit(BROKER[found.name], found.value)
    return prop.default


def in_topic_unit(prop: Property[object], text: str) -> Value:
    value = prop.parse(text)
    if prop.scale == 1 or not isinstance(value, int):
        return value
    return value * prop.scale if value >= 0 else -1


def _integer(value: Value) -> int:
    assert isinstance(value, int)
    return value


_ONLY_WITH_LISTENER = frozenset(
    prop.name
    for prop in security.TLS.properties
    if prop.name.startswith(("ssl.keystore.", "ssl.truststore.")) or prop is security.SSL_KEY_PASSWORD
)
_GROUP_PAIRS = (
    (group.CONSUMER_SESSION_TIMEOUT_MS, group.CONSUMER_HEARTBEAT_INTERVAL_MS),
    (group.SHARE_SESSION_TIMEOUT_MS, group.SHARE_HEARTBEAT_INTERVAL_MS),
)
