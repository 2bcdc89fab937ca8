"""The other brokers: where they listen for brokers, and connections to them."""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from penstock.client.connection import Connection
from penstock.client.core.handshake import BrokerInfo
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.peer_versions import NoCommonVersion, common_version
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ProtocolError

log = logging.getLogger(__name__)

_CALL_MS_MAX = 10_000
_PROBE_MS_MAX = 200

Dial = Callable[[Endpoint], Awaitable[Connection]]
"""Opens a connection, with this broker's TLS settings and credentials."""


class NoSuchPeer(ConnectionError):
    """The metadata names no broker with this id, or none that listens for others."""


class Peers:
    def __init__(self, image: MetadataImage, dial: Dial, listener: str) -> None:
        self._image = image
        self._dial = dial
        self._listener = listener
        self._channels: dict[tuple[int, str], PeerChannel] = {}

    def endpoint(self, broker_id: int) -> Endpoint:
        """The endpoint of a broker. Raises `NoSuchPeer`."""
        broker = self._image.brokers.get(broker_id)
        endpoint = None if broker is None else broker.endpoint(self._listener)
        if endpoint is None:
            raise NoSuchPeer(f"broker {broker_id} has no listener {self._listener}")
        return endpoint

    async def connect(self, broker_id: int) -> Connection:
        """Open a new connection. Raises `OSError`."""
        return await self._dial(self.endpoint(broker_id))

    async def refuses(self, broker_id: int) -> bool:
        """Whether a broker's address refuses connections. No answer within a moment is no refusal."""
        try:
            async with asyncio.timeout(_PROBE_MS_MAX / 1000):
                connection = await self.connect(broker_id)
        except OSError as error:
            return error.errno == errno.ECONNREFUSED  # with several addresses the error has no errno
        except ProtocolError:
            return False
        connection.abort()
        return False

    def channel(self, broker_id: int, *, waits_for: str = "") -> "PeerChannel":
        """The shared connection to a broker.

        Responses come in the order of requests, so requests that wait at the other end have a separate connection, for
        each thing that they wait for.
        """
        channel = self._channels.get((broker_id, waits_for))
        if channel is None:
            channel = PeerChannel(lambda: self.connect(broker_id), lambda: _CALL_MS_MAX)
            self._channels[broker_id, waits_for] = channel
        return channel

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()


class PeerChannel:
    """A connection that is opened on first use, and again after it was lost. Calls may overlap."""

    def __init__(self, connect: Callable[[], Awaitable[Connection]], timeout_ms: Callable[[], int]) -> None:
        self._connect = connect
        self._timeout_ms = timeout_ms
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()
        self._unsupported: set[int] = set()

    @property
    def peer(self) -> BrokerInfo | None:
        """The other node's versions and features, while there is a connection."""
        return None if self._connection is None else self._connection.info

    async def call(self, api_key: int, newest: int, request: Any) -> Any:
        """Send a request in the newest version that both nodes know, not above `newest`.

        Raises `OSError` (a `ConnectionError` or `TimeoutError` among them) or `ProtocolError`.
        """
        try:
            async with asyncio.timeout(self._timeout_ms() / 1000):
                connection = await self._opened()
                version = self._common_version(connection.info, api_key, newest)
                return await connection.call(api_key, version, request)
        except TimeoutError:
            await self.close()  # its late answer would delay the next one
            raise

    async def version(self, api_key: int, newest: int) -> int:
        """The version in which `call` sends a request. Raises as `call` does."""
        async with asyncio.timeout(self._timeout_ms() / 1000):
            return self._common_version((await self._opened()).info, api_key, newest)

    def _common_version(self, peer: BrokerInfo, api_key: int, newest: int) -> int:
        try:
            version = common_version(peer, api_key, newest)
        except NoCommonVersion as error:
            if api_key not in self._unsupported:  # logged once
                self._unsupported.add(api_key)
                log.warning("Cannot send a request to another node: %s", error)
            raise
        self._unsupported.discard(api_key)
        return version

    async def _opened(self) -> Connection:
        async with self._opening:
            if self._connection is None or self._connection.is_lost:
                self._connection = await self._connect()
            return self._connection

    async def close(self) -> None:
        self.drop()

    def drop(self) -> None:
        """Close the connection: calls that wait for an answer fail."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
