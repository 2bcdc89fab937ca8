"""The settings of one share group: the broker's, and over them those of the group itself (resource type GROUP)."""

from collections.abc import Mapping

from penstock.config.broker import BrokerConfig
from penstock.config.themes import coordinators, group
from penstock.groups.consumer.settings import either
from penstock.groups.share.situation import ShareSettings


def settings_of(config: BrokerConfig, overrides: Mapping[str, str]) -> ShareSettings:
    return ShareSettings(
        size_max=config[coordinators.GROUP_SHARE_MAX_SIZE],
        session_timeout_ms=either(
            config, overrides, group.SHARE_SESSION_TIMEOUT_MS, coordinators.GROUP_SHARE_SESSION_TIMEOUT_MS
        ),
        heartbeat_interval_ms=either(
            config,
            overrides,
            group.SHARE_HEARTBEAT_INTERVAL_MS,
            coordinators.GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
        ),
        assignment_interval_ms=either(
            config,
            overrides,
            group.SHARE_ASSIGNMENT_INTERVAL_MS,
            coordinators.GROUP_SHARE_ASSIGNMENT_INTERVAL_MS,
        ),
    )
