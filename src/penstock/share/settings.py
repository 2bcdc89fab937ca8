"""The settings of one share group: the broker's, overridden by the group's own (resource type GROUP)."""

from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.offset_reset import OffsetReset, parse_offset_reset
from penstock.config.property import ConfigError, Property
from penstock.config.settings import coordinators, group
from penstock.share.partition.values import PartitionSettings

T = TypeVar("T")


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    partition: PartitionSettings
    reads_committed: bool
    offset_reset: OffsetReset


def settings_of(config: BrokerConfig, overrides: Mapping[str, str]) -> GroupSettings:
    """Return the current settings, which may change while the group is active."""
    return GroupSettings(
        partition=PartitionSettings(
            lock_duration_ms=own_setting(overrides, group.SHARE_RECORD_LOCK_DURATION_MS)
            or config[coordinators.GROUP_SHARE_RECORD_LOCK_DURATION_MS],
            delivery_count_limit=own_setting(overrides, group.SHARE_DELIVERY_COUNT_LIMIT)
            or config[coordinators.GROUP_SHARE_DELIVERY_COUNT_LIMIT],
            record_locks_max=own_setting(overrides, group.SHARE_PARTITION_MAX_RECORD_LOCKS)
            or config[coordinators.GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS],
            allows_renewal=own_setting(overrides, group.SHARE_RENEW_ACKNOWLEDGE_ENABLE) is not False,
        ),
        reads_committed=own_setting(overrides, group.SHARE_ISOLATION_LEVEL) == "read_committed",
        offset_reset=parse_offset_reset(
            own_setting(overrides, group.SHARE_AUTO_OFFSET_RESET)
            or str(group.SHARE_AUTO_OFFSET_RESET.default)
        ),
    )


def own_setting(overrides: Mapping[str, str], prop: Property[T]) -> T | None:
    """Return the setting of the group itself, None when it has none."""
    text = overrides.get(prop.name)
    if text is None:
        return None
    try:
        return cast("T", prop.parse(text))
    except ConfigError:
        return None  # written by another version
