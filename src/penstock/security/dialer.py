"""Connections from one broker to another: over TLS if their listener has it, and logged in if it asks for that.

Which listener brokers use among themselves, and who they are there, the settings say: `inter.broker.listener.name`,
`sasl.mechanism.inter.broker.protocol`, `sasl.jaas.config`. The metadata quorum uses the same one.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.client.connection import Connection
from penstock.client.errors import ClientError
from penstock.client.settings import SaslSettings
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.config.themes import security
from penstock.observability.clock import Clock
from penstock.security.scram_credentials import SCRAM_BY_NAME

if TYPE_CHECKING:  # loaded when the brokers' listener needs them
    from penstock.security.tls.contexts import FollowedContext

_MODULES = {"PLAIN": "PlainLoginModule", **dict.fromkeys(SCRAM_BY_NAME, "ScramLoginModule")}


class PeerRefused(ConnectionError):
    """The other broker does not take this one's login, or cannot show who it is."""


class Dialer:
    def __init__(self, config: Callable[[], BrokerConfig], clock: Clock, *, client_id: str) -> None:
        """Raises `ConfigError` when the settings do not say enough."""
        settings = config()
        listener = settings.inter_broker_listener
        protocol = next(each.security_protocol for each in settings.listeners if each.name == listener)
        self._client_id = client_id
        self._tls: FollowedContext | None = None
        if protocol.endswith("SSL"):
            from penstock.security.tls import contexts  # noqa: PLC0415

            self._tls = contexts.FollowedContext(listener, config, contexts.client_context, clock)
        self.own_login = own_login(settings, listener) if protocol.startswith("SASL_") else None
        """Who this broker is to others, where they ask."""

    async def open(self, endpoint: Endpoint) -> Connection:
        """Raises `OSError`."""
        try:
            return await Connection.open(
                endpoint.host,
                endpoint.port,
                client_id=self._client_id,
                tls=self._tls.current() if self._tls is not None else None,
                sasl=self.own_login,
            )
        except ClientError as error:
            raise PeerRefused(str(error)) from error


def own_login(config: BrokerConfig, listener: str) -> SaslSettings:
    """Raises `ConfigError`."""
    from penstock.security.sasl.mechanisms import login_module  # noqa: PLC0415

    mechanism = config[security.SASL_MECHANISM_INTER_BROKER_PROTOCOL]
    if mechanism not in _MODULES:
        raise ConfigError(
            f"sasl.mechanism.inter.broker.protocol is {mechanism}: brokers log in to each other by one of "
            f"{', '.join(_MODULES)}, or use a listener that asks for no login (inter.broker.listener.name)"
        )
    module = login_module(config, listener, mechanism, _MODULES[mechanism])
    user, password = (module.options.get(key, "") for key in ("username", "password")) if module else ("", "")
    if not user or not password:
        raise ConfigError(
            f"brokers log in to each other by {mechanism} on listener {listener}, but sasl.jaas.config does not say "
            f'who they are: set it to "{_MODULES[mechanism]} required username=\\"…\\" password=\\"…\\";"'
        )
    return SaslSettings(mechanism=mechanism, username=user, password=password)
