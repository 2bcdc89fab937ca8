"""Which listener of its own broker the admin port passes requests on to."""

from collections.abc import Sequence

from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.config.themes.admin import ADMIN_KAFKA_LISTENER
from penstock.config.themes.network import CONTROLLER_LISTENER_NAMES


def chosen_listener(config: BrokerConfig) -> Endpoint:
    """The listener that HTTP requests are passed on to. Raises `ConfigError` when the one named is not there."""
    listeners = config.listeners
    named = config[ADMIN_KAFKA_LISTENER]
    if named is not None:
        for each in listeners:
            if each.name == named.upper():
                return each
        raise ConfigError(f"{ADMIN_KAFKA_LISTENER.name} is {named}, which is not among listeners")
    quorum = {name.upper() for name in config[CONTROLLER_LISTENER_NAMES]}
    return _preferred([each for each in listeners if each.name not in quorum] or list(listeners))


def _preferred(listeners: Sequence[Endpoint]) -> Endpoint:
    for protocols in (("PLAINTEXT",), ("SASL_PLAINTEXT", "SASL_SSL")):
        for each in listeners:
            if each.security_protocol in protocols:
                return each
    return listeners[0]
