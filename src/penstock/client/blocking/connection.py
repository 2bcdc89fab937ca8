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
from typing import Any, Final, NamedTuple, Self

from penstock.client.blocking.errors import AuthenticationFailed, UnsupportedApi, error_name
from penstock.client.blocking.security import sasl_exchange, tls_context
from penstock.client.blocking.settings import ClientSettings, SaslSettings
from penstock.client.connection import Disconnected
from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from penstock.protocol.messages import api_versions, sasl_authenticate, sasl_handshake

_SIZE: Final = struct.Struct(">i")
_ERROR_CODE: Final = struct.Struct(">h")
_FRAME_BYTES_MAX: Final = 512 * 1024 * 1024
_SOFTWARE: Final = api_versions.ApiVersionsRequest(
    client_software_name="penstock", client_software_version="0.1"
)


class _Asked(NamedTuple):
    api_key: int
    version: int
    correlation_id: int


class BlockingConnection:
    """Not safe for several threads at once; `ConnectionPool` lends each connection to one user at a time."""

    def __init__(self, channel: socket.socket, address: str, client_id: str) -> None:
        self.address = address
        self.features: dict[str, int] = {}  # the finalized ones: name to level
        self._channel = channel
        self._client_id = client_id
        self._correlation_ids = itertools.count()
        self._asked: deque[_Asked] = deque()
        self._versions: dict[int, tuple[int, int]] = {}
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
            connection._learn_versions()
            if settings.sasl is not None:
                connection._authenticate(settings.sasl)
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
    def awaited(self) -> int:
        """How many answers are still to come."""
        return len(self._asked)

    def version(self, api_key: int, at_most: int | None = None) -> int:
        """The newest version of an API that both sides know, not above `at_most`."""
        ours = apis.codec(api_key).VERSIONS
        first, last = self._versions.get(api_key, (0, -1))
        newest = min(last, ours[-1] if at_most is None else min(ours[-1], at_most))
        if newest < max(first, ours[0]):
            raise UnsupportedApi(
                f"the broker at {self.address} has {apis.APIS[api_key].name} in versions {first} to {last}, "
                f"of which none is usable here: it may be too old or too new"
            )
        return newest

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
        if asked.api_key == apis.API_VERSIONS_KEY:
            return _api_versions(frame, asked.version, position)
        return apis.codec(asked.api_key).decode_response(frame, asked.version, position)

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

    def _learn_versions(self) -> None:
        version = api_versions.VERSIONS[-1]
        response = self.call(apis.API_VERSIONS_KEY, version, _SOFTWARE)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:  # KIP-511: the answer tells what it knows
            known = {api.api_key: api.max_version for api in response.api_keys}
            version = min(version, known.get(apis.API_VERSIONS_KEY, 0))
            response = self.call(apis.API_VERSIONS_KEY, version, _SOFTWARE)
        if response.error_code:
            raise UnsupportedApi(
                f"the broker at {self.address} does not tell its versions: {error_name(response.error_code)}"
            )
        self._versions = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        self.features = {feature.name: feature.max_version_level for feature in response.finalized_features}

    def _authenticate(self, sasl: SaslSettings) -> None:
        # SaslHandshake v1 announces that the exchange comes in SaslAuthenticate requests (KIP-152).
        handshake = sasl_handshake.SaslHandshakeRequest(mechanism=sasl.mechanism)
        answer = self.call(sasl_handshake.API_KEY, 1, handshake)
        if answer.error_code:
            raise AuthenticationFailed(
                f"the broker at {self.address} does not take {sasl.mechanism}; it offers "
                f"{', '.join(answer.mechanisms) or 'nothing'}: set sasl.mechanism"
            )
        version = self.version(sasl_authenticate.API_KEY)
        exchange = sasl_exchange(sasl)
        sent = next(exchange)
        while True:
            request = sasl_authenticate.SaslAuthenticateRequest(auth_bytes=sent)
            answer = self.call(sasl_authenticate.API_KEY, version, request)
            if answer.error_code:
                reason = answer.error_message or error_name(answer.error_code)
                raise AuthenticationFailed(f"the broker at {self.address} refused {sasl!r}: {reason}")
            try:
                sent = exchange.send(answer.auth_bytes)
            except StopIteration:
                return


def _api_versions(frame: bytearray, version: int, position: int) -> api_versions.ApiVersionsResponse:
    """An answer to a version that the broker does not know comes in the form of version 0."""
    if (
        len(frame) >= position + 2
        and _ERROR_CODE.unpack_from(frame, position)[0] == ErrorCode.UNSUPPORTED_VERSION
    ):
        version = 0
    return api_versions.decode_response(frame, version, position)


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
