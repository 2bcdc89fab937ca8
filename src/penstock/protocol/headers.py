"""The header in front of every request and every response.

Request:  api_key int16, api_version int16, correlation_id int32, client_id nullable string (never compact), and in
header version 2 tagged fields. Response: correlation_id int32, and in header version 1 tagged fields.
"""

import struct
from collections.abc import Callable
from typing import Any, Final

import msgspec

from penstock.protocol.apis import APIS, request_header_version, response_header_version
from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Budget,
    Buffer,
    RecordsByReference,
    read_nullable_string,
    skip_tagged_fields,
    truncated,
    write_nullable_string,
)

_REQUEST: Final = struct.Struct(">hhi")
_RESPONSE: Final = struct.Struct(">i")
_SIZE: Final = struct.Struct(">i")
_TAGGED_RESPONSES: Final = frozenset(
    (spec.key, version)
    for spec in APIS.values()
    for version in spec.versions
    if response_header_version(spec.key, version) == 1
)
"""One lookup for each response, instead of three calls."""


class RequestHeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A null client id is read as an empty one, as Kafka does."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str = ""


def decode_request_header(buf: Buffer, pos: int = 0) -> tuple[RequestHeader, int]:
    """The header, and the position where the body starts.

    Of a request with an unknown key or version only the fixed fields can be relied on; the rest is read if possible.
    That is enough to respond, as the broker must to an ApiVersions request of a future version.
    """
    if len(buf) - pos < _REQUEST.size:
        raise truncated(_REQUEST.size, len(buf) - pos)
    api_key, api_version, correlation_id = _REQUEST.unpack_from(buf, pos)
    pos += _REQUEST.size
    spec = APIS.get(api_key)
    client_id = ""
    if spec is not None:
        is_flexible = api_version >= spec.flexible_from
        end = pos + 2 + buf[pos + 1] if len(buf) - pos > 2 and buf[pos] == 0 else len(buf)
        try:
            # The common case, read without calls.
            if end < len(buf) and not (is_flexible and buf[end]):
                client_id, pos = str(buf[pos + 2 : end], "utf-8"), end + is_flexible
            else:
                client_id, pos = _client_id(buf, pos, is_flexible)
        except UnicodeDecodeError:
            if api_version in spec.versions:
                raise ProtocolError("a string is not valid UTF-8") from None
        except ProtocolError:
            if api_version in spec.versions:
                raise
    header = RequestHeader(
        api_key=api_key, api_version=api_version, correlation_id=correlation_id, client_id=client_id
    )
    return header, pos


def _client_id(buf: Buffer, pos: int, is_flexible: bool) -> tuple[str, int]:
    client_id, pos = read_nullable_string(buf, pos)
    return client_id or "", skip_tagged_fields(buf, pos, Budget()) if is_flexible else pos


def encode_request_header(out: bytearray, header: RequestHeader) -> None:
    out += _REQUEST.pack(header.api_key, header.api_version, header.correlation_id)
    write_nullable_string(out, header.client_id)
    if request_header_version(header.api_key, header.api_version) == 2:
        out.append(0)


def encode_response_header(out: bytearray, api_key: int, api_version: int, correlation_id: int) -> None:
    """The header that the response to a request of this key and version must have."""
    out += _RESPONSE.pack(correlation_id)
    if (api_key, api_version) in _TAGGED_RESPONSES:
        out.append(0)


def encode_response_frame(
    api_key: int,
    encode_into: Callable[[bytearray, Any, int], None],
    message: Any,
    api_version: int,
    correlation_id: int,
) -> tuple[bytearray]:
    """A whole response: its size, its header, and its body as `encode_into` writes it."""
    out = bytearray(_SIZE.size)
    encode_response_header(out, api_key, api_version, correlation_id)
    encode_into(out, message, api_version)
    _SIZE.pack_into(out, 0, len(out) - _SIZE.size)
    return (out,)


def encode_response_buffers(
    api_key: int,
    encode_into: Callable[[bytearray, Any, int], None],
    message: Any,
    api_version: int,
    correlation_id: int,
) -> list[Buffer]:
    """Encode a whole response with records as several buffers, without a copy of the records."""
    out = RecordsByReference(_SIZE.size)
    out.records = []
    encode_response_header(out, api_key, api_version, correlation_id)
    encode_into(out, message, api_version)
    buffers = out.buffers()
    _SIZE.pack_into(out, 0, sum(map(len, buffers)) - _SIZE.size)
    return buffers


def decode_response_header(buf: Buffer, api_key: int, api_version: int, pos: int = 0) -> tuple[int, int]:
    """The correlation id, and the position where the body starts."""
    if len(buf) - pos < _RESPONSE.size:
        raise truncated(_RESPONSE.size, len(buf) - pos)
    correlation_id: int = _RESPONSE.unpack_from(buf, pos)[0]
    pos += _RESPONSE.size
    if response_header_version(api_key, api_version) == 1:
        pos = skip_tagged_fields(buf, pos)
    return correlation_id, pos
