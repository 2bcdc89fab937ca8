"""The listening sockets of one broker: bind, accept within limits, sweep the idle, stop gracefully."""

import asyncio
import contextlib
import logging
import socket
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from penstock.config.listeners import Endpoint
from penstock.observability.clock import Clock
from penstock.server.connection import Connection
from penstock.server.connection_host import ConnectionHost, Tracked
from penstock.server.socket_options import SocketOptions

if TYPE_CHECKING:
    from penstock.server.tls_listener import TlsListener

log = logging.getLogger(__name__)

_IDLE_SWEEP_MS = 10_000


class ListenFailed(Exception):
    """A listener's address cannot be bound; the message says which and what to do."""


class Server:
    def __init__(
        self, host: ConnectionHost, clock: Clock, *, idle_ms_max: int, sockets: SocketOptions
    ) -> None:
        self._host = host
        self._clock = clock
        self._idle_ms_max = idle_ms_max
        self._sockets = sockets
        self._servers: list[asyncio.Server | TlsListener] = []
        self._sweeper: asyncio.Task[None] | None = None

    async def listen(self, endpoints: list[Endpoint]) -> list[Endpoint]:
        """Bind all endpoints and give them back with the ports they really have (port 0 picks a free one)."""
        bound = []
        for endpoint in endpoints:
            listening = _bind(endpoint, self._sockets)
            port: int = listening.getsockname()[1]
            name = endpoint.name
            self._servers.append(await self._listener(name, listening))
            bound.append(msgspec.structs.replace(endpoint, port=port))
        return bound

    async def _listener(self, name: str, listening: socket.socket) -> "asyncio.Server | TlsListener":
        security = self._host.security.get(name)
        if security is not None and security.tls is not None:
            from penstock.server.tls_listener import TlsListener  # noqa: PLC0415  see connection_host

            listening.listen(self._sockets.backlog)
            return TlsListener(self._host, name, security, listening)
        return await asyncio.get_running_loop().create_server(
            partial(Connection, self._host, name),
            sock=listening,
            backlog=self._sockets.backlog,
            start_serving=False,
        )

    async def start(self) -> None:
        for server in self._servers:
            await server.start_serving()
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep(), name="idle-connection-sweep")

    async def stop(self, drain_ms_max: int) -> None:
        """Accept nobody, answer what is in flight, close; those still waiting after the limit are cut off."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for server in self._servers:
            server.close()
        draining = [asyncio.ensure_future(c.drain_and_close()) for c in list(self._host.connections)]
        if draining:
            _, late = await asyncio.wait(draining, timeout=drain_ms_max / 1000)
            for task in late:
                task.cancel()
        for connection in list(self._host.connections):
            connection.abort()
        for server in self._servers:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(server.wait_closed(), 1)

    async def _sweep(self) -> None:
        closed: set[Tracked] = set()  # those that the last turn has closed; one that reads nothing stays open
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
                        "closing the connection of %s: idle for %d ms", connection.peer, self._idle_ms_max
                    )
                    connection.close("")
            closed = idle


def _bind(endpoint: Endpoint, options: SocketOptions) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            endpoint.host or None, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ListenFailed(
            f"cannot listen on {endpoint.host}:{endpoint.port}: {error.strerror or error}"
        ) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        options.apply(listening)
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise ListenFailed(
            f"cannot listen on {endpoint.host}:{endpoint.port}: {error.strerror}. Stop whatever uses the port or "
            "choose another with --listen HOST:PORT"
        ) from error
    listening.setblocking(False)
    return listening
