"""The settings of one KIP-848 group: the broker's, and over them those of the group itself (resource type GROUP)."""

from collections.abc import Mapping

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError, Property
from penstock.config.themes import coordinators, group
from penstock.groups.consumer.assignors import ASSIGNORS
from penstock.groups.consumer.situation import ConsumerSettings


def settings_of(config: BrokerConfig, overrides: Mapping[str, str]) -> ConsumerSettings:
    policy = config[coordinators.GROUP_CONSUMER_MIGRATION_POLICY]
    offered = config[coordinators.GROUP_CONSUMER_ASSIGNORS]
    return ConsumerSettings(
        size_max=config[coordinators.GROUP_CONSUMER_MAX_SIZE],
        session_timeout_ms=either(
            config,
            overrides,
            group.CONSUMER_SESSION_TIMEOUT_MS,
            coordinators.GROUP_CONSUMER_SESSION_TIMEOUT_MS,
        ),
        heartbeat_interval_ms=either(
            config,
            overrides,
            group.CONSUMER_HEARTBEAT_INTERVAL_MS,
            coordinators.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
        ),
        assignment_interval_ms=either(
            config,
            overrides,
            group.CONSUMER_ASSIGNMENT_INTERVAL_MS,
            coordinators.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
        ),
        assignors=tuple(name for name in offered if name in ASSIGNORS) or tuple(ASSIGNORS),
        allows_upgrade=policy in ("upgrade", "bidirectional"),
        allows_downgrade=policy in ("downgrade", "bidirectional"),
        classic_size_max=config[coordinators.GROUP_MAX_SIZE],
    )


def either(
    config: BrokerConfig, overrides: Mapping[str, str], own: Property[int], broker: Property[int]
) -> int:
    """What a group sets for itself, or else what the broker has."""
    text = overrides.get(own.name)
    if text is not None:
        try:
            value = own.parse(text)
        except ConfigError:
            return config[broker]  # written by another version
        assert isinstance(value, int)
        return value
    return config[broker]
