"""A broker's settings: static ones of its file and command line, overlaid with dynamic ones.

Three layers, the first that has a value wins: this broker's dynamic settings, the cluster's dynamic defaults, the
static settings; then the table's default. All synonyms of a setting (`log.retention.ms`, `.minutes`, `.hours`) are
looked up in one layer before the next, as Kafka does (KIP-226).
"""

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar, cast

import msgspec

from penstock.config import java_properties
from penstock.config.listeners import Endpoint, parse_endpoints, parse_protocol_map
from penstock.config.property import ConfigError, Live, Property, Value, render
from penstock.config.settings import coordinators, logs, network, replication
from penstock.config.table import BROKER, broker_property, is_skipped, known_broker_property

T = TypeVar("T")


class ConfigSource(enum.IntEnum):
    """The source of a value, with the numbers of DescribeConfigs responses."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Found(msgspec.Struct, frozen=True):
    """A value of a setting in one of the layers, as text."""

    name: str
    value: str
    source: ConfigSource


class BrokerConfig:
    """Read a value with `config[PROPERTY]`; the properties are in `penstock.config.settings`."""

    __slots__ = ("_values", "cluster_wide", "per_broker", "static")

    def __init__(
        self,
        static: Mapping[str, str] | None = None,
        *,
        cluster_wide: Mapping[str, str] | None = None,
        per_broker: Mapping[str, str] | None = None,
    ) -> None:
        self.static = dict(static or {})
        self._values: dict[str, Value] = {}
        for name, text in self.static.items():
            self._values[name] = known_broker_property(name).parse(text)
        self.cluster_wide = self._overlay(cluster_wide or {})
        self.per_broker = self._overlay(per_broker or {})
        _check_together(self)

    def __getitem__(self, prop: Property[T]) -> T:
        return cast("T", self._values.get(prop.name, prop.default))

    def with_dynamic(
        self, *, cluster_wide: Mapping[str, str], per_broker: Mapping[str, str]
    ) -> "BrokerConfig":
        return BrokerConfig(self.static, cluster_wide=cluster_wide, per_broker=per_broker)

    def for_listener(self, listener: str, prop: Property[T], mechanism: str | None = None) -> T:
        """The value of a setting for one listener, and for one SASL mechanism."""
        prefix = f"listener.name.{listener.lower()}."
        names = [f"{prefix}{mechanism.lower()}.{prop.name}"] if mechanism else []
        for name in (*names, prefix + prop.name):
            if name in self._values:
                return cast("T", self._values[name])
        return self[prop]

    def lookup(self, names: Iterable[str]) -> Iterator[Found]:
        """All values of a setting with these names, the effective one first."""
        names = tuple(names)
        layers = (
            (self.per_broker, ConfigSource.DYNAMIC_BROKER),
            (self.cluster_wide, ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (self.static, ConfigSource.STATIC_BROKER),
        )
        for layer, source in layers:
            for name in names:
                if name in layer:
                    yield Found(name, layer[name], source)
        for name in names:
            if name in BROKER and (text := render(BROKER[name].default)) is not None:
                yield Found(name, text, ConfigSource.DEFAULT)

    @property
    def node_id(self) -> int:
        node_id = self[network.NODE_ID]
        return node_id if node_id >= 0 else self[network.BROKER_ID]

    @property
    def log_dirs(self) -> tuple[str, ...]:
        return self[logs.LOG_DIRS] or self[logs.LOG_DIR]

    @property
    def listeners(self) -> tuple[Endpoint, ...]:
        return parse_endpoints("listeners", ",".join(self[network.LISTENERS]), self._protocols())

    @property
    def advertised_listeners(self) -> tuple[Endpoint, ...]:
        advertised = self[network.ADVERTISED_LISTENERS]
        if advertised is None:
            return self.listeners
        return parse_endpoints("advertised.listeners", ",".join(advertised), self._protocols())

    @property
    def is_broker(self) -> bool:
        """Whether this node stores partitions and serves clients; else it is only a controller."""
        return "broker" in self[network.PROCESS_ROLES]

    @property
    def is_controller(self) -> bool:
        """Whether this node may vote in the metadata quorum."""
        return "controller" in self[network.PROCESS_ROLES]

    @property
    def inter_broker_listener(self) -> str:
        """The listener by which this node reaches brokers; a node that is only a controller need not have one."""
        if (name := self[network.INTER_BROKER_LISTENER_NAME]) is not None:
            return name.upper()
        protocol = self[network.SECURITY_INTER_BROKER_PROTOCOL]
        controllers = self.controller_listeners
        listeners = [each for each in self.listeners if each.name not in controllers] or self.listeners
        matching = [each.name for each in listeners if each.security_protocol == protocol]
        return matching[0] if matching else listeners[0].name

    @property
    def controller_listeners(self) -> tuple[str, ...]:
        """The names of the listeners on which this node is a controller, the preferred one first. There may be none:
        then the brokers' listener serves the requests of controllers too.
        """
        listening = {each.name for each in self.listeners}
        named = [name.upper() for name in self[network.CONTROLLER_LISTENER_NAMES]]
        return tuple(name for name in dict.fromkeys(named) if name in listening)

    @property
    def quorum_listeners(self) -> tuple[str, ...]:
        """The names of the listeners on which the other nodes of the quorum reach this one."""
        return self.controller_listeners or (self.inter_broker_listener,)

    def protocol_of(self, listener: str) -> str:
        """The security protocol of a listener of this node, or of other nodes. Raises `ConfigError`."""
        protocol = self._protocols().get(listener)
        if protocol is None:
            raise ConfigError(
                f"No security protocol is defined for listener {listener}: add {listener}:PROTOCOL to "
                "listener.security.protocol.map"
            )
        return protocol

    def settings(self) -> Mapping[str, Value]:
        """The values set in any layer, without the table's defaults."""
        return self._values

    def _protocols(self) -> dict[str, str]:
        protocols = parse_protocol_map(self[network.LISTENER_SECURITY_PROTOCOL_MAP])
        if network.LISTENER_SECURITY_PROTOCOL_MAP.name not in self._values:
            names = ("CONTROLLER", *self[network.CONTROLLER_LISTENER_NAMES])
            protocols = {**{name.upper(): "PLAINTEXT" for name in names}, **protocols}
        return protocols

    def _overlay(self, layer: Mapping[str, str]) -> dict[str, str]:
        """Apply a dynamic layer.

        An invalid value and one of a read-only setting are skipped: another version wrote them. An unknown setting has
        no effect, but it is listed.
        """
        kept: dict[str, str] = {}
        for name, text in layer.items():
            if name in BROKER and BROKER[name].live is Live.READ_ONLY:
                continue
            if (prop := broker_property(name)) is not None:
                try:
                    self._values[name] = prop.parse(text)
                except ConfigError:
                    continue
            kept[name] = text
        return kept


def load(text: str | None = None, settings: Iterable[str] = ()) -> BrokerConfig:
    """Read a .properties file and `key=value` settings, which win.

    Unknown names are skipped in a file (see `unknown_names`) and rejected among `settings`.
    """
    given = java_properties.parse(text) if text is not None else {}
    static = {name: value for name, value in given.items() if not is_skipped(name)}
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator:
            raise ConfigError(f"{setting!r} is not a setting: write it as name=value")
        static[name.strip()] = value.strip()
    return BrokerConfig(static)


def unknown_names(text: str) -> list[str]:
    return [name for name in java_properties.parse(text) if is_skipped(name)]


def settings_without_effect(config: BrokerConfig) -> list[str]:
    """The settings without effect that have another value than their default."""
    return [
        name
        for name, text in config.static.items()
        if (prop := known_broker_property(name)).ignored and prop.parse(text) != prop.default
    ]


def _check_together(config: BrokerConfig) -> None:
    """Reject valid settings that contradict each other."""
    node_id, broker_id = config[network.NODE_ID], config[network.BROKER_ID]
    if "broker.id" in config.static and node_id >= 0 and node_id != broker_id:
        raise ConfigError(f"node.id is {node_id} but broker.id is {broker_id}: set only node.id")
    listening = {endpoint.name for endpoint in config.listeners}
    if not config.is_broker and (others := listening.difference(config.controller_listeners)):
        raise ConfigError(
            f"process.roles is controller, and controller.listener.names has no {', '.join(sorted(others))}: a "
            "controller serves no clients. Name all listeners in controller.listener.names, or add the role broker"
        )
    if config.is_broker and listening == set(config.controller_listeners):
        raise ConfigError(
            f"controller.listener.names has all listeners ({', '.join(sorted(listening))}): add one for brokers and "
            "clients to listeners"
        )
    for endpoint in config.advertised_listeners:
        if endpoint.name not in listening:
            raise ConfigError(f"advertised.listeners names {endpoint.name}, which is not among listeners")
    advertised = {endpoint.name for endpoint in config.advertised_listeners}
    if config.is_broker and config.inter_broker_listener not in advertised:
        raise ConfigError(
            f"inter.broker.listener.name is {config.inter_broker_listener}, which is not among advertised.listeners"
        )
    for low, high in _ORDERED:
        if config[low] > config[high]:
            raise ConfigError(f"{low.name} is {config[low]}, which is more than {high.name} ({config[high]})")
    queue_bytes, request_bytes = (
        config[network.QUEUED_MAX_REQUEST_BYTES],
        config[network.SOCKET_REQUEST_MAX_BYTES],
    )
    if 0 < queue_bytes < request_bytes:
        raise ConfigError(
            f"queued.max.request.bytes is {queue_bytes}: it must be -1 or at least socket.request.max.bytes "
            f"({request_bytes}), or a large request could never be read"
        )


_ORDERED: tuple[tuple[Property[int], Property[int]], ...] = (
    (replication.BROKER_HEARTBEAT_INTERVAL_MS, replication.BROKER_SESSION_TIMEOUT_MS),
    (coordinators.GROUP_MIN_SESSION_TIMEOUT_MS, coordinators.GROUP_MAX_SESSION_TIMEOUT_MS),
    *(
        pair
        for setting, low, high in (
            coordinators.CONSUMER_SESSION_TIMEOUT,
            coordinators.CONSUMER_HEARTBEAT_INTERVAL,
        )
        for pair in ((low, setting), (setting, high))
    ),
    (replication.REPLICA_FETCH_WAIT_MAX_MS, replication.REPLICA_SOCKET_TIMEOUT_MS),
)
