"""The settings of one share group: the broker's, overridden by the group's own (resource type GROUP)."""

from collections.abc import Mapping

import msgspec

from penstock.config.broker import BrokerConfig
from penstock.config.offset_reset import OffsetReset, parse_offset_reset
from penstock.config.overrides import group_value
from penstock.config.settings import group
from penstock.share.partition.values import PartitionSettings


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    partition: PartitionSettings
    reads_committed: bool
    offset_reset: OffsetReset


def settings_of(config: BrokerConfig, overrides: Mapping[str, str]) -> GroupSettings:
    """Return the current settings, which may change while the group is active."""
    return GroupSettings(
        partition=PartitionSettings(
            lock_duration_ms=group_value(config, group.SHARE_RECORD_LOCK_DURATION_MS, overrides),
            delivery_count_limit=group_value(config, group.SHARE_DELIVERY_COUNT_LIMIT, overrides),
            record_locks_max=group_value(config, group.SHARE_PARTITION_MAX_RECORD_LOCKS, overrides),
            allows_renewal=group_value(config, group.SHARE_RENEW_ACKNOWLEDGE_ENABLE, overrides),
        ),
        reads_committed=group_value(config, group.SHARE_ISOLATION_LEVEL, overrides) == "read_committed",
        offset_reset=parse_offset_reset(group_value(config, group.SHARE_AUTO_OFFSET_RESET, overrides)),
    )
