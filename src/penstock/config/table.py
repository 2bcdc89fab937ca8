"""All settings in one table by name, with a suggestion for an unknown name."""

import difflib
from collections.abc import Mapping

from penstock.config.property import ConfigError, Live, Property
from penstock.config.section import Section
from penstock.config.settings import (
    admin,
    client_metrics,
    coordinators,
    group,
    ignored,
    logs,
    network,
    replication,
    security,
    topic,
)

BROKER_SECTIONS: tuple[Section, ...] = (
    *network.SECTIONS,
    *logs.SECTIONS,
    *replication.SECTIONS,
    *coordinators.SECTIONS,
    *security.SECTIONS,
    *admin.SECTIONS,
    *ignored.SECTIONS,
)


def _by_name(*sections: Section) -> dict[str, Property[object]]:
    table: dict[str, Property[object]] = {}
    for section in sections:
        for prop in section.properties:
            assert prop.name not in table, f"{prop.name} is in the table twice"
            table[prop.name] = prop
    return table


BROKER: Mapping[str, Property[object]] = _by_name(*BROKER_SECTIONS)
TOPIC: Mapping[str, Property[object]] = _by_name(topic.SECTION)
GROUP: Mapping[str, Property[object]] = _by_name(group.SECTION)
CLIENT_METRICS: Mapping[str, Property[object]] = _by_name(client_metrics.SECTION)

_LISTENER_PREFIX = "listener.name."
_PER_LISTENER = {
    "max.connections",
    "max.connection.creation.rate",
    "connections.max.reauth.ms",
    *(prop.name for prop in (*security.TLS.properties, *security.SASL.properties)),
}
_CLUSTER_WIDE_PER_LISTENER = {"max.connections", "max.connection.creation.rate", "num.network.threads"}
_OWN_PREFIX = "penstock."
_SECURITY = _by_name(*security.SECTIONS)
_MISSPELT = 0.9  # how alike two names are when one is the other misspelt


def broker_property(name: str) -> Property[object] | None:
    """Find a broker setting; `listener.name.<listener>.[<mechanism>.]<setting>` is the setting for one listener."""
    if (known := BROKER.get(name)) is not None or not name.startswith(_LISTENER_PREFIX):
        return known
    _listener, _, rest = name.removeprefix(_LISTENER_PREFIX).partition(".")
    _mechanism, _, inner = rest.partition(".")
    for candidate in (rest, inner):
        if candidate in _PER_LISTENER:
            return BROKER[candidate]
    return None


def is_for_one_broker(name: str) -> bool:
    """Whether a setting can be changed for one broker only, not for all at once."""
    if name in BROKER:
        return BROKER[name].live is Live.PER_BROKER
    _listener, _, rest = name.removeprefix(_LISTENER_PREFIX).partition(".")
    return name.startswith(_LISTENER_PREFIX) and rest not in _CLUSTER_WIDE_PER_LISTENER


def known_broker_property(name: str) -> Property[object]:
    if (known := broker_property(name)) is None:
        raise ConfigError(f"Unknown broker config name: {name}{suggestion(name, BROKER)}")
    return known


def is_own_unknown(name: str) -> bool:
    """Whether the name has the prefix of Penstock's own settings and is none of them: it is misspelt."""
    return name.startswith(_OWN_PREFIX) and broker_property(name) is None


def is_skipped(name: str) -> bool:
    """Whether a name in a file is skipped: Kafka accepts any, because plugins read theirs from the same file.

    A name with Penstock's prefix is misspelt. So is one that is almost the name of a security setting: a broker that
    skipped it would be less secure than intended.
    """
    if broker_property(name) is not None or name.startswith(_OWN_PREFIX):
        return False
    bare = name.removeprefix(_LISTENER_PREFIX)
    parts = (bare, *(bare.split(".", count)[-1] for count in (1, 2))) if bare != name else (name,)
    return not any(difflib.get_close_matches(part, _SECURITY, n=1, cutoff=_MISSPELT) for part in parts)


def suggestion(name: str, table: Mapping[str, Property[object]]) -> str:
    near = difflib.get_close_matches(name, table, n=1)
    return f". Did you mean {near[0]}?" if near else ""
