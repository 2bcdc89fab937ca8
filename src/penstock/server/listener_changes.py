"""Opens and closes listeners while the broker runs, following the dynamic `listeners` setting (KIP-226).

A listener is identified by its name. A change is checked before the controller stores it (`listener_check`). Once it is
in the metadata, new listeners are opened and removed ones closed; the others keep their connections. The advertised
addresses stay as registered.
"""

import asyncio
import logging
from collections.abc import Callable

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
        bound: dict[str, Endpoint],
    ) -> None:
        """`bound` has the open listeners, by name; it is kept up to date. The listeners of the current settings are
        opened at the start, and get registered.
        """
        self._server = server
        self._identity = identity
        self._config = config
        self._bound = bound
        self._registered = tuple(each.name for each in config().listeners)
        self._turn = asyncio.Lock()

    async def follow(self) -> None:
        """Open and close listeners to match the current settings. One at a time: two would open the same listener."""
        async with self._turn:
            await self._follow()

    async def _follow(self) -> None:
        settings = self._config()
        kept = {*self._registered, *(each.name for each in settings.listeners)}
        removed = [name for name in self._bound if name not in kept]
        for name in removed:
            endpoint = self._bound.pop(name)
            self._server.close(name, _DRAIN_MS_MAX)
            self._identity.forget(name)
            log.info("Closed a listener. listener=%s address=%s:%d", name, endpoint.host, endpoint.port)
        for endpoint in settings.listeners:
            if endpoint.name not in self._bound:
                await self._add(endpoint)

    async def _add(self, endpoint: Endpoint) -> None:
        try:
            self._identity.secure([endpoint])
            bound = self._bound[endpoint.name] = await self._server.open(endpoint)
        except (ConfigError, ListenFailed) as error:
            self._identity.forget(endpoint.name)
            log.error(  # noqa: TRY400  the message says it all
                "Cannot open a listener of the dynamic setting listeners: %s. listener=%s",
                error,
                endpoint.name,
            )
        else:
            log.info("Opened a listener. listener=%s address=%s:%d", bound.name, bound.host, bound.port)
