"""One connection to a broker over a plain socket, for processes without an event loop.

`open` connects, secures, asks for the broker's versions and authenticates. After that requests may be pipelined:
`send` several, `receive` the answers in the same order. An answer is decoded in the buffer that it was received in, so
the records of a Fetch are views of it and cost no copy. After any failure the connection is closed.
"""

import itertools
import socket
import ssl
import struct
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from penstock.client.answers import decode_answer
from penstock.client.connection import Disconnected
from penstock.client.errors import AuthenticationFailed
from penstock.client.introduction import Introduced, introduction
from penstock.client.security import tls_context
from penstock.client.settings import ClientSettings, SaslSettings
from penstock.protocol import apis
from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import decode_response_header, encode_request_header
from penstock.protocol.request_header import RequestHeader

_SIZE: Final = struct.Struct(">i")
_FRAME_BYTES_MAX: Final = 512 * 1024 * 1024


class _Asked(NamedTuple):
    api_key: int
    version: int
    correlation_id: int


class BlockingConnection:
    """Not safe for several threads at once; `ConnectionPool` lends each connection to one user at a time."""

    def __init__(self, channel: socket.socket, address: str, client_id: str) -> None:
        self.address = address
        self._channel = channel
        self._client_id = client_id
        self._correlation_ids = itertools.count()
        self._asked: deque[_Asked] = deque()
        self._introduced = Introduced(address=address)
        self._is_open = True

    @classmethod
    def open(cls, host: str, port: int, settings: ClientSettings) -> "BlockingConnection":
        address = f"{host}:{port}"
        try:
            channel = socket.create_connection((host, port), settings.connect_timeout_ms / 1000)
        except OSError as error:
            raise Disconnected(f"no connection to the broker at {address}: {error}") from error
        connection = cls(channel, address, settings.client_id)
        try:
            channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            channel.settimeout(settings.request_timeout_ms / 1000)
            if settings.tls is not None:
                connection._channel = _secured(channel, host, address, settings)
            connection._introduce(settings.sasl)
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError) and not isinstance(error, Disconnected):
                raise _disconnected(address, error) from error
            raise
        return connection

    # -- what callers use

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def features(self) -> Mapping[str, int]:
        """The finalized ones: name to level."""
        return self._introduced.features

    @property
    def awaited(self) -> int:
        """How many answers are still to come."""
        return len(self._asked)

    def version(self, api_key: int, at_most: int | None = None) -> int:
        """The newest version of an API that both sides know, not above `at_most`."""
        return self._introduced.version(api_key, at_most)

    def call(self, api_key: int, version: int, request: Any) -> Any:
        self.send(api_key, version, request)
        return self.receive()

    def send(self, api_key: int, version: int, request: Any, *, is_answered: bool = True) -> None:
        """Send a request. `is_answered` is false for the one that has no answer: Produce with acks=0."""
        correlation_id = next(self._correlation_ids) & 0x7FFFFFFF
        out = bytearray(4)
        encode_request_header(
            out,
            RequestHeader(
                api_key=api_key,
                api_version=version,
                correlation_id=correlation_id,
                client_id=self._client_id,
            ),
        )
        apis.codec(api_key).encode_request_into(out, request, version)
        _SIZE.pack_into(out, 0, len(out) - 4)
        if not self._is_open:
            raise Disconnected(f"the connection to the broker at {self.address} is closed")
        try:
            self._channel.sendall(out)
        except OSError as error:
            self.close()
            raise _disconnected(self.address, error) from error
        if is_answered:
            self._asked.append(_Asked(api_key, version, correlation_id))

    def receive(self) -> Any:
        """The answer to the oldest request that has none yet."""
        assert self._asked, "nothing was asked"
        asked = self._asked.popleft()
        frame = self._receive_frame()
        try:
            return self._decode(frame, asked)
        except ProtocolError:
            self.close()
            raise

    def _decode(self, frame: bytearray, asked: _Asked) -> Any:
        correlation_id, position = decode_response_header(frame, asked.api_key, asked.version)
        if correlation_id != asked.correlation_id:
            raise ProtocolError(
                f"the broker at {self.address} answered {correlation_id}, not {asked.correlation_id}"
            )
        return decode_answer(frame, asked.api_key, asked.version, position)

    def close(self) -> None:
        self._is_open = False
        self._asked.clear()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- bytes

    def _receive_frame(self) -> bytearray:
        if not self._is_open:
            raise Disconnected(f"the connection to the broker at {self.address} is closed")
        try:
            (size,) = _SIZE.unpack(self._receive_exactly(4))
            if 4 <= size <= _FRAME_BYTES_MAX:
                return self._receive_exactly(size)
        except OSError as error:
            self.close()
            raise _disconnected(self.address, error) from error
        self.close()
        raise ProtocolError(f"the broker at {self.address} announces a frame of {size} bytes")

    def _receive_exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        got = 0
        while got < size:
            count = self._channel.recv_into(view[got:])
            if count == 0:
                raise ConnectionResetError("the broker closed it")
            got += count
        return buffer

    # -- introduction

    def _introduce(self, sasl: SaslSettings | None) -> None:
        steps = introduction(self.address, sasl)
        ask = next(steps)
        while True:
            try:
                ask = steps.send(self.call(ask.api_key, ask.version, ask.request))
            except StopIteration as done:
                self._introduced = done.value
                return


def _secured(channel: socket.socket, host: str, address: str, settings: ClientSettings) -> ssl.SSLSocket:
    assert settings.tls is not None
    try:
        return tls_context(settings.tls).wrap_socket(channel, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        raise AuthenticationFailed(
            f"the certificate of the broker at {address} is not trusted ({error.verify_message}): "
            f"check ssl.truststore.location and the host name"
        ) from error
    except ssl.SSLError as error:
        raise AuthenticationFailed(
            f"no TLS with the broker at {address} ({error}): is security.protocol right?"
        ) from error


def _disconnected(address: str, error: OSError) -> Disconnected:
    reason = "it did not answer in time" if isinstance(error, TimeoutError) else str(error)
    return Disconnected(f"lost the connection to the broker at {address}: {reason}")
