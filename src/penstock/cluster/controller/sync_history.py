"""Records which brokers may have acknowledged records before they were synced (`flush.messages` above 1).

A broker that crashed is judged by every value that the setting had since the broker registered, not by the current
value when the broker returns. A broker learns of a change later than the controller decides it, but it opens its logs
only when it knows all metadata up to its registration. So a broker that registered after the last decision to sync
every record has synced all that it acknowledged. The offset of that decision is stored, for each topic and for the
default of all topics, and compared with the broker's epoch, which is the offset of its registration.

    settings of (SYNC_HISTORY, topic or ""):   {"flush.messages": offset}
"""

from collections.abc import Iterable

from penstock.cluster.controller.inherited import inherited_values
from penstock.cluster.metadata.image import SYNC_HISTORY, MetadataImage
from penstock.config.broker import BrokerConfig
from penstock.config.overrides import topic_config
from penstock.config.settings.topic import FLUSH_MESSAGES
from penstock.config.topic import LONG_MAX
from penstock.protocol.messages.metadata_records import ConfigRecord

_SYNCS_EVERYTHING = 1
_NEVER = -1
_STILL = LONG_MAX
"""Instead of an offset: unsynced records are still acknowledged. Only for the default, which may be in a file alone."""
_DEFAULT = ""


def may_lack_records(image: MetadataImage, config: BrokerConfig, topic: str, broker_epoch: int) -> bool:
    """Whether a broker that crashed in this epoch may lack records of the topic that it has acknowledged."""
    until = _until(image, topic)
    if FLUSH_MESSAGES.name not in image.topic_settings(topic):
        until = max(until, _until(image, _DEFAULT))
    return broker_epoch < until or _allows_unsynced(image, config, topic)


def record_changes(
    before: MetadataImage,
    config_before: BrokerConfig,
    after: MetadataImage,
    config_after: BrokerConfig,
    topics: Iterable[str],
) -> list[ConfigRecord]:
    """The records to write when the settings of these topics, or the default, change."""
    records = [
        _record(name, before.offset + 1)
        for name in topics
        if _allows_unsynced(before, config_before, name) and not _allows_unsynced(after, config_after, name)
    ]
    return records + record_default_change(after, config_after)


def record_default_change(image: MetadataImage, config: BrokerConfig) -> list[ConfigRecord]:
    """The record to write when the default has changed."""
    is_recorded = _until(image, _DEFAULT) == _STILL
    is_allowed = _default_allows_unsynced(image, config)
    if is_allowed == is_recorded:
        return []
    return [_record(_DEFAULT, _STILL if is_allowed else image.offset + 1)]


def _allows_unsynced(image: MetadataImage, config: BrokerConfig, topic: str) -> bool:
    settings = image.topic_settings(topic)
    if FLUSH_MESSAGES.name in settings:
        return topic_config(config, settings).flush_messages != _SYNCS_EVERYTHING
    return _default_allows_unsynced(image, config)


def _default_allows_unsynced(image: MetadataImage, config: BrokerConfig) -> bool:
    return inherited_values(image, config, FLUSH_MESSAGES) != {_SYNCS_EVERYTHING}


def _until(image: MetadataImage, name: str) -> int:
    return int(image.configs.get((SYNC_HISTORY, name), {}).get(FLUSH_MESSAGES.name, _NEVER))


def _record(name: str, offset: int) -> ConfigRecord:
    return ConfigRecord(
        resource_type=SYNC_HISTORY, resource_name=name, name=FLUSH_MESSAGES.name, value=str(offset)
    )
