"""DescribeConfigs: each setting with its value, source and synonyms."""

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from itertools import dropwhile

import msgspec

from penstock.config.broker import BrokerConfig, ConfigSource, Found
from penstock.config.overrides import in_topic_unit
from penstock.config.property import Live, Property, render
from penstock.config.settings.network import BROKER_ID, NODE_ID
from penstock.config.table import BROKER, CLIENT_METRICS, GROUP, TOPIC, broker_property

_UNKNOWN_KIND = 0


class Synonym(msgspec.Struct, frozen=True):
    """The effective value, or one that it overrides; None where it is hidden."""

    name: str
    value: str | None
    source: ConfigSource


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """One setting. The value of a sensitive one is None."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[Synonym, ...]
    kind: int
    doc: str
    read_only: bool
    sensitive: bool


def _describe(
    table: Mapping[str, Property[object]],
    own: ConfigSource,
    broker: BrokerConfig,
    overrides: Mapping[str, str],
    names: Iterable[str] | None = None,
) -> list[Described]:
    """The settings of one resource, limited to `names`; unknown names are left out, as in Kafka."""
    wanted = table.keys() if names is None else set(names)
    return [
        _with_synonyms(broker, prop, overrides[name], own) if name in overrides else _inherited(broker, prop)
        for name, prop in table.items()
        if name in wanted
    ]


describe_topic = partial(_describe, TOPIC, ConfigSource.DYNAMIC_TOPIC)
describe_group = partial(_describe, GROUP, ConfigSource.GROUP)
describe_client_metrics = partial(_describe, CLIENT_METRICS, ConfigSource.CLIENT_METRICS)


def describe_broker(broker: BrokerConfig, names: Iterable[str] | None = None) -> list[Described]:
    """All settings of this broker, with those for one listener and unknown ones."""
    wanted = None if names is None else set(names)
    layers = (broker.static, broker.cluster_wide, broker.per_broker)
    special = dict.fromkeys(name for layer in layers for name in layer if name not in BROKER)
    return [
        _described_broker(name, _found(broker, name))
        for name in (*BROKER, *special)
        if wanted is None or name in wanted
    ]


def _found(broker: BrokerConfig, name: str) -> tuple[Found, ...]:
    """The node id is listed under both of its names, whichever of them is set."""
    if name in (NODE_ID.name, BROKER_ID.name):
        return (Found(name, str(broker.node_id), ConfigSource.STATIC_BROKER),)
    return tuple(broker.lookup(broker_synonyms(name)))


def describe_cluster_defaults(broker: BrokerConfig, names: Iterable[str] | None = None) -> list[Described]:
    """The dynamic settings of all brokers (resource BROKER with an empty name)."""
    wanted = None if names is None else set(names)
    return [
        _described_broker(name, (Found(name, text, ConfigSource.DYNAMIC_DEFAULT_BROKER),))
        for name, text in broker.cluster_wide.items()
        if wanted is None or name in wanted
    ]


def broker_synonyms(name: str) -> tuple[str, ...]:
    """All names of a broker setting, in the order of precedence."""
    for prop in TOPIC.values():
        if name in prop.synonyms and (name == prop.synonyms[0] or BROKER[name].scale != 1):
            return prop.synonyms
    prop_of_listener = None if name in BROKER else broker_property(name)
    return (name,) if prop_of_listener is None else (name, prop_of_listener.name)


@lru_cache(maxsize=256)
def _inherited(broker: BrokerConfig, prop: Property[object]) -> Described:
    """Cached: the same for every topic or group without an override, and tools ask for all topics at once."""
    return _with_synonyms(broker, prop, None, ConfigSource.DEFAULT)


def _with_synonyms(
    broker: BrokerConfig, prop: Property[object], text: str | None, own: ConfigSource
) -> Described:
    behind = tuple(broker.lookup(prop.synonyms))
    synonyms = tuple(
        Synonym(each.name, each.value, each.source)
        for each in _visible(behind, (*prop.synonyms, prop.name)[0])
    )
    if (
        not prop.synonyms and GROUP.get(prop.name) is prop
    ):  # unlike a topic's, a group's own default is listed
        synonyms = (Synonym(prop.name, render(prop.default), ConfigSource.DEFAULT),)
    if text is not None:
        synonyms = (Synonym(prop.name, text, own), *synonyms)
    elif behind:
        text = render(in_topic_unit(BROKER[behind[0].name], behind[0].value))
    else:
        text = render(prop.default)
    return Described(
        name=prop.name,
        value=text,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        synonyms=synonyms,
        kind=prop.kind,
        doc=prop.doc,
        read_only=False,
        sensitive=prop.sensitive,
    )


def _visible(found: Iterable[Found], name: str) -> list[Found]:
    """The values that Kafka lists: none that takes precedence over the first of the setting's own name.

    So a setting with a value of a synonym only, such as `log.retention.hours`, counts as a default.
    """
    return list(dropwhile(lambda each: each.name != name, found))


def _described_broker(name: str, found: tuple[Found, ...]) -> Described:
    """An unknown setting may be a secret of a plugin, as in Kafka."""
    prop = broker_property(name)
    sensitive = prop is None or prop.sensitive
    visible = _visible(found, name)
    return Described(
        name=name,
        value=None if sensitive or not visible else visible[0].value,
        source=visible[0].source if visible else ConfigSource.DEFAULT,
        synonyms=tuple(
            Synonym(each.name, None if sensitive else each.value, each.source) for each in visible
        ),
        kind=_UNKNOWN_KIND if prop is None else prop.kind,
        doc="" if prop is None else prop.doc,
        read_only=name not in BROKER or BROKER[name].live is Live.READ_ONLY,
        sensitive=sensitive,
    )
