"""The listener of its own broker that the admin port forwards requests to."""

import ipaddress
from collections.abc import Sequence

from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.config.settings.admin import ADMIN_KAFKA_LISTENER, ADMIN_LISTENER, admin_address
from penstock.config.settings.network import CONTROLLER_LISTENER_NAMES

_ANY = ("", "0.0.0.0", "::")  # noqa: S104  compared with, not bound


def chosen_listener(config: BrokerConfig) -> Endpoint:
    """The listener for HTTP requests. Raises `ConfigError` when the configured one does not exist.

    A listener without security that fewer clients reach is chosen last: the admin port would open it to others.
    """
    named = config[ADMIN_KAFKA_LISTENER]
    if named is not None:
        for each in config.listeners:
            if each.name == named.upper():
                return each
        raise ConfigError(f"{ADMIN_KAFKA_LISTENER.name} is {named}, which is not among listeners")
    quorum = {name.upper() for name in config[CONTROLLER_LISTENER_NAMES]}
    listeners = [each for each in config.listeners if each.name not in quorum] or list(config.listeners)
    return _preferred(listeners, admin_address(config[ADMIN_LISTENER]))


def is_open(config: BrokerConfig) -> bool:
    address = admin_address(config[ADMIN_LISTENER])
    return address is not None and not _is_loopback(address[0])


def _preferred(listeners: Sequence[Endpoint], admin: tuple[str, int] | None) -> Endpoint:
    for each in listeners:
        if each.security_protocol == "PLAINTEXT" and (admin is None or _is_as_open(each.host, admin[0])):
            return each
    for each in listeners:
        if each.security_protocol.startswith("SASL_"):
            return each
    return listeners[0]


def _is_as_open(host: str, admin_host: str) -> bool:
    """Whether every client that reaches the admin port can reach `host` too, judging by the addresses."""
    return _is_loopback(admin_host) or host in (*_ANY, admin_host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
