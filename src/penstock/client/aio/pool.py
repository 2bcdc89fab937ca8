"""One asyncio connection to each broker of a cluster, secured and authenticated."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from penstock.client.aio.security import Security
from penstock.client.connection import Connection
from penstock.client.connector import Connector
from penstock.client.core.steps import Address, Send
from penstock.client.errors import AuthenticationFailed, Disconnected, Unreachable
from penstock.client.settings import SaslSettings


class ConnectionPool:
    """Opens connections when they are first needed. One that was lost, or whose login expires, is replaced."""

    def __init__(self, open_connection: Callable[[Address], Awaitable[Connection]]) -> None:
        self._open = open_connection
        self._known: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}

    async def send(self, step: Send) -> Any:
        """Send a request in the newest version that both sides know. Raises `Disconnected` after the timeout."""
        connection = await self._to(step.address)
        version = connection.info.version(step.api_key, step.version_max)
        try:
            async with asyncio.timeout(step.timeout_ms / 1000):
                return await connection.call(step.api_key, version, step.message_for(version))
        except TimeoutError:
            connection.abort()
            raise Disconnected(
                f"the broker at {connection.info.address} did not answer within {step.timeout_ms:.0f} ms"
            ) from None

    async def _to(self, address: Address) -> Connection:
        connection = self._usable(address)
        if connection is not None:
            return connection
        async with self._opening.setdefault(address, asyncio.Lock()):
            connection = self._usable(address)
            if connection is None:
                # One whose login expires still answers pending requests, and then closes by itself.
                connection = self._known[address] = await self._open(address)
            return connection

    def _usable(self, address: Address) -> Connection | None:
        known = self._known.get(address)
        return None if known is None or known.is_lost else known

    async def close(self) -> None:
        known, self._known = self._known, {}
        for connection in known.values():
            await connection.close()


class Dialer:
    """Opens connections for one client, and remembers which of its logins the cluster accepts."""

    def __init__(
        self, security: Security, *, client_id: str, timeout_ms: float, network: Connector | None = None
    ) -> None:
        self._security = security
        self._logins: tuple[SaslSettings, ...] = security.logins
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._network = network

    async def __call__(self, address: Address) -> Connection:
        """Raises `Unreachable` or `AuthenticationFailed`."""
        if not self._logins:
            return await self._dial(address, None)
        rejected: AuthenticationFailed | None = None
        for login in self._logins:
            try:
                connection = await self._dial(address, login)
            except AuthenticationFailed as error:
                rejected = error
            else:
                self._logins = (login,)
                return connection
        assert rejected is not None
        raise rejected

    async def _dial(self, address: Address, login: SaslSettings | None) -> Connection:
        name = f"{address[0]}:{address[1]}"
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                connection = await self._connect(address, name)
                try:
                    await connection.handshake(name, login)
                except Disconnected as error:
                    raise Unreachable(f"no connection to the broker at {name}: {error}") from error
                except BaseException:
                    connection.abort()
                    raise
                return connection
        except TimeoutError:
            raise Unreachable(
                f"the broker at {name} did not answer within {self._timeout_ms:.0f} ms"
            ) from None

    async def _connect(self, address: Address, name: str) -> Connection:
        try:
            return await Connection.open(
                *address, client_id=self._client_id, tls=self._security.tls, network=self._network
            )
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error
            raise AuthenticationFailed(
                f"no TLS with the broker at {name} ({reason}): check the trusted certificates and the host name"
            ) from error
        except OSError as error:
            raise Unreachable(f"no connection to the broker at {name}: {error.strerror or error}") from error
