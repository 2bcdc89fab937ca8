"""The values of a topic setting that the topic inherits from brokers."""

from collections.abc import Mapping

from penstock.cluster.metadata.image import MetadataImage
from penstock.config.broker import BrokerConfig
from penstock.config.overrides import inherited_value
from penstock.config.property import Property


def inherited_values(image: MetadataImage, config: BrokerConfig, prop: Property[int]) -> set[int]:
    """All values that any broker has: the cluster's default, and those set on single brokers.

    The brokers' files are not in the metadata: `config`, the controller's own, is taken for all of them.
    """
    values = {_value_under(config, prop, {})}
    for broker_id in image.brokers:
        settings = image.broker_settings(broker_id)
        own = {name: settings[name] for name in prop.synonyms if name in settings}
        if own:
            values.add(_value_under(config, prop, own))
    return values


def _value_under(config: BrokerConfig, prop: Property[int], of_one_broker: Mapping[str, str]) -> int:
    others = {name: text for name, text in config.per_broker.items() if name not in prop.synonyms}
    per_broker = {**others, **of_one_broker}
    if per_broker != config.per_broker:
        config = config.with_dynamic(cluster_wide=config.cluster_wide, per_broker=per_broker)
    value = inherited_value(config, prop)
    assert isinstance(value, int)
    return value
