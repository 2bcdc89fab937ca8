"""The settings of one group: the broker's, overridden by the group's own (resource type GROUP)."""

from collections.abc import Mapping
from functools import partial

from penstock.config.broker import BrokerConfig
from penstock.config.overrides import group_value
from penstock.config.settings import coordinators, group
from penstock.groups.base.context import ConsumerSettings, ShareSettings
from penstock.groups.consumer.assignors import ASSIGNORS


def consumer_settings(config: BrokerConfig, overrides: Mapping[str, str]) -> ConsumerSettings:
    value = partial(group_value, config, overrides=overrides)
    policy = config[coordinators.GROUP_CONSUMER_MIGRATION_POLICY]
    configured = config[coordinators.GROUP_CONSUMER_ASSIGNORS]
    return ConsumerSettings(
        size_max=config[coordinators.GROUP_CONSUMER_MAX_SIZE],
        session_timeout_ms=value(group.CONSUMER_SESSION_TIMEOUT_MS),
        heartbeat_interval_ms=value(group.CONSUMER_HEARTBEAT_INTERVAL_MS),
        assignment_interval_ms=value(group.CONSUMER_ASSIGNMENT_INTERVAL_MS),
        assignors=tuple(name for name in configured if name in ASSIGNORS) or tuple(ASSIGNORS),
        allows_upgrade=policy in ("upgrade", "bidirectional"),
        allows_downgrade=policy in ("downgrade", "bidirectional"),
        classic_size_max=config[coordinators.GROUP_MAX_SIZE],
    )


def share_settings(config: BrokerConfig, overrides: Mapping[str, str]) -> ShareSettings:
    value = partial(group_value, config, overrides=overrides)
    return ShareSettings(
        size_max=config[coordinators.GROUP_SHARE_MAX_SIZE],
        session_timeout_ms=value(group.SHARE_SESSION_TIMEOUT_MS),
        heartbeat_interval_ms=value(group.SHARE_HEARTBEAT_INTERVAL_MS),
        assignment_interval_ms=value(group.SHARE_ASSIGNMENT_INTERVAL_MS),
    )
