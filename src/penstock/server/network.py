"""The network as an argument: a broker binds, accepts and dials through a `Network`, as it reads and writes through a
`FileSystem`.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec

from penstock.client.connector import Connector, SocketConnector
from penstock.config.listeners import Endpoint
from penstock.server.socket_options import SocketOptions

MakeProtocol = Callable[[], asyncio.BaseProtocol]


class ListenFailed(Exception):
    """A listener's address cannot be bound; the message says which and what to do."""


class Listener(Protocol):
    """Accepts connections from `start_serving` until `close`."""

    async def start_serving(self) -> None: ...

    def close(self) -> None: ...

    async def wait_closed(self) -> None: ...


class Bound(Protocol):
    """An address that is bound, and does not accept connections yet."""

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint, with its actual port."""
        ...

    async def listener(self, make: MakeProtocol) -> Listener:
        """A listener that serves each connection with the protocol that `make` returns."""
        ...

    def socket(self) -> socket.socket:
        """The listening socket, for a listener that accepts connections itself, such as a TLS listener."""
        ...

    def close(self) -> None:
        """Release the address."""
        ...


class Network(Connector, Protocol):
    async def bind(self, endpoint: Endpoint, options: SocketOptions) -> Bound:
        """Port 0 takes a free one. Raises `ListenFailed`."""
        ...


class SocketNetwork(SocketConnector):
    """The sockets of the machine."""

    async def bind(self, endpoint: Endpoint, options: SocketOptions) -> "BoundSocket":
        try:
            found = await _resolve(endpoint)
            family, _, _, _, address = found[0]
            bound = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:
            raise ListenFailed(
                f"cannot listen on {endpoint.host}:{endpoint.port}: {error.strerror or error}"
            ) from error
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            options.apply(bound)
            bound.bind(address)
        except OSError as error:
            bound.close()
            raise ListenFailed(
                f"cannot listen on {endpoint.host}:{endpoint.port}: {error.strerror}. Stop whatever uses the port or "
                "choose another with --listen HOST:PORT"
            ) from error
        bound.setblocking(False)
        return BoundSocket(endpoint, bound, options.backlog)


class BoundSocket:
    def __init__(self, endpoint: Endpoint, bound: socket.socket, backlog: int) -> None:
        self.endpoint = msgspec.structs.replace(endpoint, port=bound.getsockname()[1])
        self._socket = bound
        self._backlog = backlog

    async def listener(self, make: MakeProtocol) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            make, sock=self._socket, backlog=self._backlog, start_serving=False
        )

    def socket(self) -> socket.socket:
        self._socket.listen(self._backlog)
        return self._socket

    def close(self) -> None:
        self._socket.close()


async def _resolve(endpoint: Endpoint) -> Sequence[tuple[Any, ...]]:
    """Resolving a name may take long, so it must not block the loop; an address is found at once."""
    host = endpoint.host or None
    try:
        return socket.getaddrinfo(
            host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICHOST
        )
    except socket.gaierror:
        return await asyncio.get_running_loop().getaddrinfo(
            host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
