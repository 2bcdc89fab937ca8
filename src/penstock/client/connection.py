"""One asyncio connection to a broker, used by other brokers, clients, tools and tests.

Requests may be pipelined. Retries, metadata and pooling are left to the caller.
"""

import asyncio
import ssl
from collections.abc import Generator
from typing import Any, cast

from penstock.client.connector import Connector, SocketConnector
from penstock.client.core.codec import SIZE, ConnectionCodec, decode, frame_size
from penstock.client.core.handshake import BrokerInfo, HandshakeRequest, handshake
from penstock.client.errors import Disconnected
from penstock.client.settings import SaslSettings
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import sasl_authenticate

__all__ = ["Connection", "Disconnected"]

_RENEW_AT = 0.85  # of the lifetime of a login


class Connection(asyncio.Protocol):
    def __init__(self, client_id: str) -> None:
        self.info = BrokerInfo(address="")  # after the handshake
        self._codec = ConnectionCodec(client_id)
        self._received = bytearray()
        self._lost: str | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str = "penstock",
        tls: ssl.SSLContext | None = None,
        sasl: SaslSettings | None = None,
        network: Connector | None = None,
    ) -> "Connection":
        """Raises `OSError`, and with `sasl` also `ClientError` when the login is rejected."""
        connector = SocketConnector() if network is None else network
        connection = await connector.connect(lambda: cls(client_id), host, port, tls=tls)
        if sasl is not None:
            try:
                await connection.handshake(f"{host}:{port}", sasl)
            except BaseException:
                connection.abort()
                raise
        return connection

    async def handshake(self, address: str, sasl: SaslSettings | None) -> None:
        """Fetch the broker's API versions, and log in if `sasl` is given.

        The connection is retired before its login expires: a new one is cheaper than a pause of this one.
        """
        steps = handshake(address, sasl)
        step: HandshakeRequest | BrokerInfo = next(steps)
        is_costly = sasl is not None and sasl.mechanism.startswith("SCRAM-")
        while not isinstance(step, BrokerInfo):
            response = await self.call(*step)
            # SCRAM computes 4,096 hashes or more: not on the loop that serves a broker's connections.
            if is_costly and step.api_key == sasl_authenticate.API_KEY:
                step = await asyncio.to_thread(_next_step, steps, response)
            else:
                step = _next_step(steps, response)
        if step.session_lifetime_ms > 0:
            delay_s = step.session_lifetime_ms * _RENEW_AT / 1000
            self._expiry = asyncio.get_running_loop().call_later(delay_s, self._retire)
        self.info = step

    def _retire(self) -> None:
        """Take no new requests; those under way are still answered."""
        self._lost = "its login has to be renewed"
        if not self._codec.pending:
            self._transport.close()

    def call(self, api_key: int, version: int, request: Any) -> "asyncio.Future[Any]":
        """Send a request; the future resolves to the decoded response."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._lost is not None:
            _fail(future, Disconnected(self._lost))
        else:
            self._transport.write(self._codec.encode(api_key, version, request, waiter=future))
        return future

    def send(self, api_key: int, version: int, request: Any) -> None:
        """Send a request without a response (Produce with acks=0)."""
        self._transport.write(self._codec.encode(api_key, version, request, is_answered=False))

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    async def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        """Close at once; calls under way fail."""
        self._transport.abort()

    # -- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is not registered as one

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = str(exc) if exc else "the broker closed the connection"
        if self._expiry is not None:
            self._expiry.cancel()
        while self._codec.pending:
            _fail(self._codec.pending.popleft().waiter, Disconnected(self._lost))

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= SIZE.size:
            try:
                size = frame_size(self._received)
            except ProtocolError:
                self._transport.abort()
                return
            if len(self._received) < SIZE.size + size:
                return
            frame = bytes(memoryview(self._received)[SIZE.size : SIZE.size + size])
            del self._received[: SIZE.size + size]
            self._frame_received(frame)

    def _frame_received(self, frame: bytes) -> None:
        if not self._codec.pending:
            self._transport.abort()
            return
        pending = self._codec.pending.popleft()
        future: asyncio.Future[Any] = pending.waiter
        try:
            response = decode(frame, pending)
        except ProtocolError as error:
            _fail(future, error)
            self._transport.abort()
            return
        if not future.done():
            future.set_result(response)
        if self._lost is not None and not self._codec.pending:
            self._transport.close()  # it was retired


def _next_step(
    steps: Generator[HandshakeRequest, Any, BrokerInfo], response: Any
) -> HandshakeRequest | BrokerInfo:
    """A `StopIteration` cannot leave a thread."""
    try:
        return steps.send(response)
    except StopIteration as done:
        info: BrokerInfo = done.value
        return info


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # no warning when the caller has dropped the future
