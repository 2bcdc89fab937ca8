"""Outgoing connections as an argument: the half of the network that dials; `server.network` has the other half."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Protocol, TypeVar

P = TypeVar("P", bound=asyncio.Protocol)

_HANDSHAKE_S_MAX = 10.0


class Connector(Protocol):
    async def connect(
        self, make: Callable[[], P], host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> P:
        """Open a connection for the protocol that `make` gives. Raises `OSError`."""
        ...


class SocketConnector:
    async def connect(
        self, make: Callable[[], P], host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> P:
        _, protocol = await asyncio.get_running_loop().create_connection(
            make,
            host,
            port,
            ssl=tls,
            server_hostname=None if tls is None else host,
            ssl_handshake_timeout=None if tls is None else _HANDSHAKE_S_MAX,
        )
        return protocol
