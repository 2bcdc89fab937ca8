"""Refuses a change of the dynamic `listeners` that this broker could not carry out, before the controller stores it."""

from collections.abc import Callable, Mapping

from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.server.identity import Identity
from penstock.server.network import ListenFailed, Network
from penstock.server.socket_options import SocketOptions


class ListenerCheck:
    def __init__(
        self,
        network: Network,
        identity: Identity,
        config: Callable[[], BrokerConfig],
        bound: Mapping[str, Endpoint],
    ) -> None:
        """`bound` has the open listeners, by name. The listeners of the current settings are opened at the start, and
        get registered.
        """
        self._network = network
        self._identity = identity
        self._config = config
        self._bound = bound
        self._registered = tuple(each.name for each in config().listeners)
        self._inter_broker = config().inter_broker_listener

    async def check(self, after: BrokerConfig) -> None:
        """Raises `ConfigError` when this broker could not open the listeners of these settings."""
        if after.listeners == self._config().listeners:
            return
        names = [each.name for each in after.listeners]
        if not set(self._registered) <= set(names):
            raise ConfigError(
                f"Advertised listeners '{', '.join(self._registered)}' must be a subset of listeners "
                f"'{', '.join(names)}': remove one of them from the file and start the broker again"
            )
        if after.inter_broker_listener != self._inter_broker:
            raise ConfigError(
                f"Brokers would use listener {after.inter_broker_listener} among themselves instead of "
                f"{self._inter_broker}: name the new one last, or set inter.broker.listener.name"
            )
        for endpoint in after.listeners:
            self._check_unchanged(endpoint)
        added = [each for each in after.listeners if each.name not in self._bound]
        self._identity.check(added, after)
        for endpoint in added:
            try:
                (await self._network.bind(endpoint, SocketOptions.of(after))).close()
            except ListenFailed as error:
                raise ConfigError(str(error)) from error

    def _check_unchanged(self, endpoint: Endpoint) -> None:
        """An open listener must not change; otherwise its clients would have to be disconnected."""
        known = self._bound.get(endpoint.name)
        if known is None:
            return
        if known.security_protocol != endpoint.security_protocol:
            raise ConfigError(f"Security protocol cannot be updated for existing listener {known.name}")
        if known.host != endpoint.host or endpoint.port not in (0, known.port):
            raise ConfigError(
                f"Listener {known.name} is open on {known.host}:{known.port}, which cannot be changed while it runs: "
                "add a listener with another name"
            )
