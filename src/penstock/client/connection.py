"""One connection to a broker, for whoever speaks the protocol from inside Penstock: other brokers, tools, tests.

Requests may be pipelined; answers come in their order and are matched by correlation id. No retries, no metadata, no
pool: that is the caller's business.
"""

import asyncio
import itertools
import ssl
import struct
from collections import deque
from collections.abc import Generator
from typing import Any, cast

from penstock.client.answers import decode_answer
from penstock.client.connector import Connector, SocketConnector
from penstock.client.introduction import Ask, Introduced, introduction
from penstock.client.settings import SaslSettings
from penstock.protocol import apis
from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import decode_response_header, encode_request_header
from penstock.protocol.messages import sasl_authenticate
from penstock.protocol.request_header import RequestHeader

_SIZE = struct.Struct(">i")
_FRAME_BYTES_MAX = 512 * 1024 * 1024
_RENEW_AT = 0.85  # of the time that a login holds


class Disconnected(ConnectionError):
    """The connection ended before the answer came."""


class _Pending:
    __slots__ = ("api_key", "correlation_id", "future", "version")

    def __init__(
        self, api_key: int, version: int, correlation_id: int, future: "asyncio.Future[Any]"
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.future = future


class Connection(asyncio.Protocol):
    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._correlation_ids = itertools.count()
        self._received = bytearray()
        self._pending: deque[_Pending] = deque()
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
        """Raises `OSError`, and with `sasl` also `ClientError` when the login is refused."""
        connector = SocketConnector() if network is None else network
        connection = await connector.connect(lambda: cls(client_id), host, port, tls=tls)
        if sasl is not None:
            try:
                await connection.introduce(f"{host}:{port}", sasl)
            except BaseException:
                connection.abort()
                raise
        return connection

    async def introduce(self, address: str, sasl: SaslSettings | None) -> Introduced:
        """Learn the broker's versions and log in, if there is somebody to log in as.

        Where logins run out, the connection is given up in time: a new one is cheaper than a pause of this one.
        """
        steps = introduction(address, sasl)
        ask = next(steps)
        is_costly = sasl is not None and sasl.mechanism.startswith("SCRAM-")
        while True:
            answer = await self.call(*ask)
            # Of a SCRAM password 4,096 hashes or more are computed: not where a broker's connections wait meanwhile.
            if is_costly and ask.api_key == sasl_authenticate.API_KEY:
                step = await asyncio.to_thread(_next_step, steps, answer)
            else:
                step = _next_step(steps, answer)
            if isinstance(step, Introduced):
                introduced = step
                break
            ask = step
        if introduced.session_lifetime_ms > 0:
            delay_s = introduced.session_lifetime_ms * _RENEW_AT / 1000
            self._expiry = asyncio.get_running_loop().call_later(delay_s, self._retire)
        return introduced

    def _retire(self) -> None:
        """Take no new calls; those under way are still answered."""
        self._lost = "its login has to be renewed"
        if not self._pending:
            self._transport.close()

    def call(self, api_key: int, version: int, request: Any) -> "asyncio.Future[Any]":
        """Send a request; await what it gives for the decoded response."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._lost is not None:
            _fail(future, Disconnected(self._lost))
            return future
        pending = _Pending(api_key, version, self._send(api_key, version, request), future)
        self._pending.append(pending)
        return future

    def tell(self, api_key: int, version: int, request: Any) -> None:
        """Send a request that is not answered (Produce with acks=0)."""
        self._send(api_key, version, request)

    def _send(self, api_key: int, version: int, request: Any) -> int:
        correlation_id = next(self._correlation_ids) & 0x7FFFFFFF
        out = bytearray(4)
        header = RequestHeader(
            api_key=api_key, api_version=version, correlation_id=correlation_id, client_id=self._client_id
        )
        encode_request_header(out, header)
        apis.codec(api_key).encode_request_into(out, request, version)
        _SIZE.pack_into(out, 0, len(out) - 4)
        self._transport.write(out)
        return correlation_id

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    async def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        """End at once; calls under way fail."""
        self._transport.abort()

    # -- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is not registered as one

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = str(exc) if exc else "the broker closed the connection"
        if self._expiry is not None:
            self._expiry.cancel()
        while self._pending:
            _fail(self._pending.popleft().future, Disconnected(self._lost))

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= 4:
            size: int = _SIZE.unpack_from(self._received)[0]
            if not 4 <= size <= _FRAME_BYTES_MAX:
                self._transport.abort()
                return
            if len(self._received) < 4 + size:
                return
            frame = bytes(memoryview(self._received)[4 : 4 + size])
            del self._received[: 4 + size]
            self._answered(frame)

    def _answered(self, frame: bytes) -> None:
        if not self._pending:
            self._transport.abort()
            return
        pending = self._pending.popleft()
        try:
            correlation_id, position = decode_response_header(frame, pending.api_key, pending.version)
            response = decode_answer(frame, pending.api_key, pending.version, position)
        except ProtocolError as error:
            self._give_up(pending, error)
            return
        if correlation_id != pending.correlation_id:
            wrong = ProtocolError(f"an answer to {correlation_id}, not to {pending.correlation_id}")
            self._give_up(pending, wrong)
        elif not pending.future.done():
            pending.future.set_result(response)
        if self._lost is not None and not self._pending:
            self._transport.close()  # it was retired

    def _give_up(self, pending: _Pending, error: ProtocolError) -> None:
        _fail(pending.future, error)
        self._transport.abort()


def _next_step(steps: Generator[Ask, Any, Introduced], answer: Any) -> Ask | Introduced:
    """A `StopIteration` cannot leave a thread."""
    try:
        return steps.send(answer)
    except StopIteration as done:
        introduced: Introduced = done.value
        return introduced


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        future.exception()  # whoever dropped the future does not want to hear of it
