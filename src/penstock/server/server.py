"""The listening sockets of one broker: bind, accept within limits, sweep the idle, stop gracefully."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial

from penstock.config.listeners import Endpoint
from penstock.runtime.clock import Clock
from penstock.server.connection import Connection
from penstock.server.connections import ConnectionContext, Tracked
from penstock.server.listener_security import ListenerSecurity, plaintext
from penstock.server.network import Bound, Listener, ListenFailed, Network
from penstock.server.socket_options import SocketOptions

log = logging.getLogger(__name__)

_IDLE_SWEEP_MS = 10_000


class Server:
    def __init__(
        self,
        host: ConnectionContext,
        network: Network,
        clock: Clock,
        *,
        idle_ms_max: int,
        sockets: SocketOptions,
    ) -> None:
        self._host = host
        self._network = network
        self._clock = clock
        self._idle_ms_max = idle_ms_max
        self._sockets = sockets
        self._servers: dict[str, Listener] = {}  # by the name of the listener
        self._opened: dict[str, ListenerSecurity] = {}  # likewise
        self._closing: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    async def listen(self, endpoints: list[Endpoint]) -> list[Endpoint]:
        """Bind all endpoints. Returns them with their actual ports (port 0 picks a free one)."""
        return [await self._listen(endpoint) for endpoint in endpoints]

    async def _listen(self, endpoint: Endpoint) -> Endpoint:
        security = self._security_of(endpoint)
        bound = await self._network.bind(endpoint, self._sockets)
        self._servers[endpoint.name] = await self._listener(bound, security)
        self._opened[endpoint.name] = security
        return bound.endpoint

    def _security_of(self, endpoint: Endpoint) -> ListenerSecurity:
        """Return the security of a listener. Raises `ListenFailed` when it was not made."""
        if endpoint.security_protocol == "PLAINTEXT":
            return plaintext()
        security = self._host.security.get(endpoint.name)
        if security is None:
            raise ListenFailed(f"listener {endpoint.name} has no {endpoint.security_protocol} settings")
        return security

    async def open(self, endpoint: Endpoint) -> Endpoint:
        """Begin to serve another listener, while others are served."""
        bound = await self._listen(endpoint)
        await self._servers[endpoint.name].start_serving()
        return bound

    def close(self, listener: str, drain_ms_max: int) -> None:
        """Close a listener, and its connections once their requests are answered."""
        server = self._servers.pop(listener)
        server.close()
        self._opened.pop(listener).is_closed = True
        its_own = {each for each in self._host.connections if each.peer.listener == listener}
        task = asyncio.get_running_loop().create_task(
            self._end([server], its_own.__contains__, drain_ms_max), name=f"close-{listener}"
        )
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _listener(self, bound: Bound, security: ListenerSecurity) -> Listener:
        name = bound.endpoint.name
        if security.tls is not None:
            from penstock.server.tls_listener import TlsListener  # noqa: PLC0415  see connections

            return TlsListener(self._host, name, security, bound.socket())
        return await bound.listener(partial(Connection, self._host, name, security))

    async def start(self) -> None:
        for server in self._servers.values():
            await server.start_serving()
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep(), name="idle-connection-sweep")

    async def stop(self, drain_ms_max: int) -> None:
        """Stop accepting, answer the requests in flight, and close; abort the rest after `drain_ms_max`."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        servers = list(self._servers.values())
        for server in servers:
            server.close()
        await self._end(servers, lambda _connection: True, drain_ms_max)
        await asyncio.gather(*self._closing)

    async def _end(
        self,
        servers: Sequence[Listener],
        is_meant: Callable[[Tracked], bool],
        drain_ms_max: int,
    ) -> None:
        meant = [each for each in self._host.connections if is_meant(each)]
        draining = [asyncio.ensure_future(each.drain_and_close()) for each in meant]
        if draining:
            _, late = await asyncio.wait(draining, timeout=drain_ms_max / 1000)
            for task in late:
                task.cancel()
        for connection in list(self._host.connections):
            if is_meant(connection):
                connection.abort()
        for server in servers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(server.wait_closed(), 1)

    async def _sweep(self) -> None:
        closed: set[Tracked] = set()  # in the last sweep; a client that reads nothing stays open
        while True:
            await self._clock.sleep(min(_IDLE_SWEEP_MS, self._idle_ms_max))
            for security in self._host.security.values():
                if security.tls is not None:
                    security.tls.look()
            oldest_ms = self._clock.monotonic_ms() - self._idle_ms_max
            idle = {
                each
                for each in self._host.connections
                if each.last_active_ms < oldest_ms and not each.is_waiting_for_answers
            }
            for connection in idle:
                if connection in closed:
                    connection.abort()
                else:
                    log.debug(
                        "Closed an idle connection. peer=%s idle_ms=%d", connection.peer, self._idle_ms_max
                    )
                    connection.close("")
            closed = idle
