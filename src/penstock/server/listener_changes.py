"""Listeners that are opened and closed while the broker runs, as the dynamic `listeners` says (KIP-226).

A listener is known by its name. A change is checked by the broker that it is about, before the controller stores it:
what cannot be opened is refused. When the change is in the metadata, new listeners are opened and others closed; those
that stay keep their connections. Where clients find this broker is what it has said when it registered.
"""

import logging
from collections.abc import Callable, Sequence

from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.config.property import ConfigError
from penstock.server.identity import Identity
from penstock.server.network import ListenFailed
from penstock.server.server import Server

log = logging.getLogger(__name__)

_DRAIN_MS_MAX = 10_000


class ListenerChanges:
    def __init__(
        self,
        server: Server,
        identity: Identity,
        config: Callable[[], BrokerConfig],
        bound: Sequence[Endpoint],
        on_change: Callable[[list[Endpoint]], None],
    ) -> None:
        """`bound` are the listeners at the start, which get registered; `on_change` gets those open after a change."""
        self._server = server
        self._identity = identity
        self._config = config
        self._open = {each.name: each for each in bound}
        self._registered = tuple(self._open)
        self._inter_broker = config().inter_broker_listener
        self._on_change = on_change

    async def check(self, after: BrokerConfig) -> None:
        """Raises `ConfigError` when this broker could not have the listeners of these settings."""
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
        added = self._added(after)
        self._identity.check(added, after)
        for endpoint in added:
            try:
                await self._server.check(endpoint)
            except ListenFailed as error:
                raise ConfigError(str(error)) from error

    def _check_unchanged(self, endpoint: Endpoint) -> None:
        """A listener that is open stays as it is, or its clients would have to be cut off."""
        known = self._open.get(endpoint.name)
        if known is None:
            return
        if known.security_protocol != endpoint.security_protocol:
            raise ConfigError(f"Security protocol cannot be updated for existing listener {known.name}")
        if known.host != endpoint.host or endpoint.port not in (0, known.port):
            raise ConfigError(
                f"Listener {known.name} is open on {known.host}:{known.port}, which cannot be changed while it runs: "
                "add a listener with another name"
            )

    async def follow(self) -> None:
        """Open and close what the settings say now."""
        settings = self._config()
        kept = {*self._registered, *(each.name for each in settings.listeners)}
        removed = [name for name in self._open if name not in kept]
        for name in removed:
            endpoint = self._open.pop(name)
            self._server.close(name, _DRAIN_MS_MAX)
            self._identity.forget(name)
            log.info("Closed listener %s on %s:%d", name, endpoint.host, endpoint.port)
        added = self._added(settings)
        for endpoint in added:
            await self._add(endpoint)
        if removed or added:
            self._on_change(list(self._open.values()))

    def _added(self, settings: BrokerConfig) -> list[Endpoint]:
        return [each for each in settings.listeners if each.name not in self._open]

    async def _add(self, endpoint: Endpoint) -> None:
        try:
            self._identity.secure([endpoint])
            bound = self._open[endpoint.name] = await self._server.open(endpoint)
        except (ConfigError, ListenFailed) as error:
            self._identity.forget(endpoint.name)
            log.error(  # noqa: TRY400  the message says it all
                "Cannot open listener %s, which the dynamic setting listeners names: %s", endpoint.name, error
            )
        else:
            log.info("Opened listener %s on %s:%d", bound.name, bound.host, bound.port)
