"""Connections of one client to the brokers of a cluster: one for each broker, secured and introduced."""

import asyncio
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from penstock.client.cluster.security import Security
from penstock.client.connection import Connection, Disconnected
from penstock.client.errors import AuthenticationFailed
from penstock.client.introduction import Introduced
from penstock.client.settings import SaslSettings

Address = tuple[str, int]
Message = Any
"""A request of any of the modules in `penstock.protocol.messages`."""


class BrokerConnection:
    """A connection whose broker told its versions and took the login, if there was one."""

    __slots__ = ("_connection", "introduced")

    def __init__(self, connection: Connection, introduced: Introduced) -> None:
        self._connection = connection
        self.introduced = introduced

    @property
    def is_usable(self) -> bool:
        return not self._connection.is_lost

    async def call(self, message: Message, *, timeout_ms: float, version_max: int | None = None) -> Any:
        """Send a request in the newest version that both sides know. `Disconnected` when no answer comes in time."""
        api_key = api_key_of(message)
        version = self.introduced.version(api_key, version_max)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await self._connection.call(api_key, version, message)
        except TimeoutError:
            self._connection.abort()
            raise Disconnected(
                f"the broker at {self.introduced.address} did not answer within {timeout_ms:.0f} ms"
            ) from None

    async def close(self) -> None:
        await self._connection.close()


class Connections:
    """Opened when first asked for; one that was lost, or whose login runs out, is replaced."""

    def __init__(self, open_connection: Callable[[Address], Awaitable[BrokerConnection]]) -> None:
        self._open = open_connection
        self._known: dict[Address, BrokerConnection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}

    async def to(self, address: Address) -> BrokerConnection:
        connection = self._usable(address)
        if connection is not None:
            return connection
        async with self._opening.setdefault(address, asyncio.Lock()):
            connection = self._usable(address)
            if connection is None:
                # One whose login runs out still answers what it was asked, and then closes by itself.
                connection = self._known[address] = await self._open(address)
            return connection

    def _usable(self, address: Address) -> BrokerConnection | None:
        known = self._known.get(address)
        return known if known is not None and known.is_usable else None

    async def close(self) -> None:
        known, self._known = self._known, {}
        for connection in known.values():
            await connection.close()


class Dialer:
    """Opens connections for one client; remembers which of its logins the cluster takes."""

    def __init__(self, security: Security, *, client_id: str, timeout_ms: float) -> None:
        self._security = security
        self._logins: tuple[SaslSettings, ...] = security.logins
        self._client_id = client_id
        self._timeout_ms = timeout_ms

    async def __call__(self, address: Address) -> BrokerConnection:
        if not self._logins:
            return await self._dial(address, None)
        refused: AuthenticationFailed | None = None
        for login in self._logins:
            try:
                connection = await self._dial(address, login)
            except AuthenticationFailed as error:
                refused = error
            else:
                self._logins = (login,)
                return connection
        assert refused is not None
        raise refused

    async def _dial(self, address: Address, login: SaslSettings | None) -> BrokerConnection:
        name = f"{address[0]}:{address[1]}"
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                connection = await self._connect(address, name)
                try:
                    return BrokerConnection(connection, await connection.introduce(name, login))
                except BaseException:
                    connection.abort()
                    raise
        except TimeoutError:
            raise Disconnected(
                f"the broker at {name} did not answer within {self._timeout_ms:.0f} ms"
            ) from None

    async def _connect(self, address: Address, name: str) -> Connection:
        try:
            return await Connection.open(*address, client_id=self._client_id, tls=self._security.tls)
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error
            raise AuthenticationFailed(
                f"no TLS with the broker at {name} ({reason}): check the trusted certificates and the host name"
            ) from error
        except OSError as error:
            raise Disconnected(f"no connection to the broker at {name}: {error.strerror or error}") from error


def api_key_of(message: Message) -> int:
    """Every message module names its API."""
    key: int = sys.modules[type(message).__module__].API_KEY
    return key
