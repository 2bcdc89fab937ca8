"""The controllers that a configuration names, in the settings of a KRaft node.

A node without the role `controller` joins the cluster of the controllers that `controller.quorum.bootstrap.servers` or
`controller.quorum.voters` names. A node with that role joins the cluster of the bootstrap servers if it is not one of
them; otherwise it starts a new cluster.
"""

import re
from collections.abc import Sequence
from typing import Final

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.settings import network, replication

Member = tuple[str, int]
"""Host and port."""

_ADDRESS: Final = re.compile(r"^\[?([0-9a-zA-Z\-%._:]+?)\]?:(\d{1,5})$")
_PORT_MAX: Final = 65535


def controller_listener(config: BrokerConfig) -> str | None:
    """The listener by which this node reaches the controllers: the first name in `controller.listener.names`."""
    names = config[network.CONTROLLER_LISTENER_NAMES]
    return names[0].upper() if names else None


def controllers_to_join(config: BrokerConfig) -> Sequence[Member]:
    """The controllers of the cluster that this node joins; empty if it starts a cluster. Raises `ConfigError`."""
    setting = replication.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS
    found = [_member(setting.name, each) for each in config[setting]]
    if config.is_controller:
        own = {(each.host, each.port) for each in (*config.listeners, *config.advertised_listeners)}
        if own.intersection(found):
            return ()
    elif not found:
        setting = replication.CONTROLLER_QUORUM_VOTERS
        found = [_member(setting.name, each.partition("@")[2]) for each in config[setting]]
    if found and controller_listener(config) is None:
        raise ConfigError(
            f"{setting.name} names controllers, but controller.listener.names is empty: set it to the name of their "
            "listener, like CONTROLLER"
        )
    return tuple(found)


def _member(setting: str, text: str) -> Member:
    match = _ADDRESS.match(text)
    if match is None or not 0 < int(match[2]) <= _PORT_MAX:
        raise ConfigError(f"Invalid value {text} for configuration {setting}: expected host:port")
    return match[1], int(match[2])
