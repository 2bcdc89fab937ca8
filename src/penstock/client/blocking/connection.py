"""One connection to a broker over a plain socket, for processes without an event loop.

`open` connects, secures, asks for the broker's versions and authenticates. After that requests may be pipelined:
`send` several, `receive` the responses in the same order. A response is decoded in the buffer that it was received in,
so the records of a Fetch are views of it and cost no copy. After any failure the connection is closed.
"""

import socket
import ssl
from collections.abc import Mapping
from typing import Any, Self

from penstock.client.core.codec import SIZE, ConnectionCodec, decode, frame_size
from penstock.client.core.handshake import BrokerInfo, handshake
from penstock.client.errors import AuthenticationFailed, Disconnected
from penstock.client.security import tls_context
from penstock.client.settings import ClientSettings, SaslSettings
from penstock.protocol.errors import ProtocolError


class BlockingConnection:
    """Not thread-safe; `ConnectionPool` lends each connection to one user at a time."""

    def __init__(self, channel: socket.socket, address: str, client_id: str) -> None:
        self.address = address
        self._channel = channel
        self._codec = ConnectionCodec(client_id)
        self._info = BrokerInfo(address=address)
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
            connection._handshake(settings.sasl)
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError) and not isinstance(error, Disconnected):
                raise _disconnected(address, error) from error
            raise
        return connection

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def features(self) -> Mapping[str, int]:
        """The finalized ones: name to level."""
        return self._info.features

    @property
    def pending_count(self) -> int:
        return len(self._codec.pending)

    def version(self, api_key: int, at_most: int | None = None) -> int:
        """The newest version of an API that both sides know, not above `at_most`."""
        return self._info.version(api_key, at_most)

    def call(self, api_key: int, version: int, request: Any) -> Any:
        self.send(api_key, version, request)
        return self.receive()

    def send(self, api_key: int, version: int, request: Any, *, is_answered: bool = True) -> None:
        """Send a request. `is_answered` is false for the one without a response: Produce with acks=0."""
        self._check_open()
        out = self._codec.encode(api_key, version, request, is_answered=is_answered)
        try:
            self._channel.sendall(out)
        except OSError as error:
            self.close()
            raise _disconnected(self.address, error) from error

    def receive(self) -> Any:
        """The response to the oldest pending request."""
        self._check_open()
        assert self._codec.pending, "no request is pending"
        pending = self._codec.pending.popleft()
        try:
            return decode(self._receive_exactly(frame_size(self._receive_exactly(SIZE.size))), pending)
        except ProtocolError as error:
            self.close()
            raise ProtocolError(f"{self.address}: {error}") from error
        except OSError as error:
            self.close()
            raise _disconnected(self.address, error) from error

    def close(self) -> None:
        self._is_open = False
        self._codec.pending.clear()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise Disconnected(f"the connection to the broker at {self.address} is closed")

    def _receive_exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        received = 0
        while received < size:
            count = self._channel.recv_into(view[received:])
            if count == 0:
                raise ConnectionResetError("the broker closed it")
            received += count
        return buffer

    def _handshake(self, sasl: SaslSettings | None) -> None:
        steps = handshake(self.address, sasl)
        step = next(steps)
        while True:
            try:
                step = steps.send(self.call(*step))
            except StopIteration as done:
                self._info = done.value
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
