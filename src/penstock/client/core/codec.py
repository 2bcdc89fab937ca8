"""Requests to frames and frames to responses, for one connection. Pure.

Requests may be pipelined; responses come in their order and are matched by correlation id.
"""

import itertools
import struct
from collections import deque
from typing import Any, Final, NamedTuple

from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from penstock.protocol.wire import Buffer

SIZE: Final = struct.Struct(">i")
FRAME_BYTES_MAX: Final = 512 * 1024 * 1024
_ERROR_CODE: Final = struct.Struct(">h")


class Pending(NamedTuple):
    """A request without its response; `waiter` is the caller's."""

    api_key: int
    version: int
    correlation_id: int
    waiter: Any


class ConnectionCodec:
    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._correlation_ids = itertools.count()
        self.pending: deque[Pending] = deque()

    def encode(
        self, api_key: int, version: int, request: Any, *, waiter: Any = None, is_answered: bool = True
    ) -> bytearray:
        """The frame of a request. `is_answered` is false for the one without a response: Produce with acks=0."""
        correlation_id = next(self._correlation_ids) & 0x7FFFFFFF
        out = bytearray(SIZE.size)
        header = RequestHeader(
            api_key=api_key, api_version=version, correlation_id=correlation_id, client_id=self._client_id
        )
        encode_request_header(out, header)
        apis.codec(api_key).encode_request_into(out, request, version)
        SIZE.pack_into(out, 0, len(out) - SIZE.size)
        if is_answered:
            self.pending.append(Pending(api_key, version, correlation_id, waiter))
        return out


def frame_size(buffer: Buffer) -> int:
    """The size that a frame announces. Raises `ProtocolError`."""
    size: int = SIZE.unpack_from(buffer)[0]
    if not SIZE.size <= size <= FRAME_BYTES_MAX:
        raise ProtocolError(f"the broker announced a frame of {size} bytes")
    return size


def decode(frame: Buffer, pending: Pending) -> Any:
    """The response to a request. Raises `ProtocolError`."""
    correlation_id, position = decode_response_header(frame, pending.api_key, pending.version)
    if correlation_id != pending.correlation_id:
        raise ProtocolError(f"the broker answered request {correlation_id}, not {pending.correlation_id}")
    return decode_body(frame, pending.api_key, pending.version, position)


def decode_body(frame: Buffer, api_key: int, version: int, position: int) -> Any:
    """The response whose body begins at `position`.

    An ApiVersions request of a version that the broker does not know is answered in the form of version 0 (KIP-511).
    """
    if (
        api_key == apis.API_VERSIONS_KEY
        and len(frame) >= position + 2
        and _ERROR_CODE.unpack_from(frame, position)[0] == ErrorCode.UNSUPPORTED_VERSION
    ):
        version = 0
    return apis.codec(api_key).decode_response(frame, version, position)
