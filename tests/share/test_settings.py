"""The settings of a share group: its own before the broker's."""

from penstock.config.broker import BrokerConfig
from penstock.config.offset_reset import OffsetReset, ResetKind
from penstock.share.partition.values import PartitionSettings
from penstock.share.settings import GroupSettings, settings_of

CONFIG = BrokerConfig(
    {
        "node.id": "1",
        "group.share.record.lock.duration.ms": "17000",
        "group.share.delivery.count.limit": "3",
        "group.share.partition.max.record.locks": "500",
    }
)


def test_a_group_without_settings_has_the_brokers() -> None:
    assert settings_of(CONFIG, {}) == GroupSettings(
        partition=PartitionSettings(lock_duration_ms=17_000, delivery_count_limit=3, record_locks_max=500),
        reads_committed=False,
        offset_reset=OffsetReset(ResetKind.LATEST),
    )


def test_settings_of_the_group_override_the_broker() -> None:
    own = {
        "share.record.lock.duration.ms": "20000",
        "share.delivery.count.limit": "7",
        "share.partition.max.record.locks": "100",
        "share.renew.acknowledge.enable": "false",
        "share.isolation.level": "read_committed",
        "share.auto.offset.reset": "by_duration:PT1M",
    }
    assert settings_of(CONFIG, own) == GroupSettings(
        partition=PartitionSettings(
            lock_duration_ms=20_000, delivery_count_limit=7, record_locks_max=100, allows_renewal=False
        ),
        reads_committed=True,
        offset_reset=OffsetReset(ResetKind.BY_DURATION, 60_000),
    )


def test_an_invalid_value_is_ignored() -> None:
    own = {"share.delivery.count.limit": "1", "share.auto.offset.reset": "tomorrow"}
    assert settings_of(CONFIG, own) == settings_of(CONFIG, {})
