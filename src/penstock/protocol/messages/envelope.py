"""EnvelopeRequest and EnvelopeResponse.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Budget,
    Buffer,
    read_compact_bytes,
    read_compact_nullable_bytes,
    skip_tagged_fields,
    unsupported_version,
    write_compact_bytes,
    write_compact_nullable_bytes,
)

API_KEY: Final = 58
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_h: Final = struct.Struct(">h")


class EnvelopeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    request_data: bytes = b""
    request_principal: bytes | None = b""
    client_host_address: bytes = b""


class EnvelopeResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    response_data: bytes | None = None
    error_code: int = 0


def _read_envelope_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[EnvelopeRequest, int]:
    request_data, pos = read_compact_bytes(buf, pos)
    request_principal, pos = read_compact_nullable_bytes(buf, pos)
    client_host_address, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = EnvelopeRequest(
        request_data=request_data,
        request_principal=request_principal,
        client_host_address=client_host_address,
    )
    return value, pos


def _write_envelope_request_v0(out: bytearray, message: EnvelopeRequest) -> None:
    write_compact_bytes(out, message.request_data)
    write_compact_nullable_bytes(out, message.request_principal)
    write_compact_bytes(out, message.client_host_address)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[EnvelopeRequest, int]], ...]] = (
    _read_envelope_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, EnvelopeRequest], None], ...]] = (
    _write_envelope_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> EnvelopeRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("EnvelopeRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("EnvelopeRequest is cut short") from error


def encode_request_into(out: bytearray, message: EnvelopeRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("EnvelopeRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"EnvelopeRequest holds a value out of range: {error}") from error


def encode_request(message: EnvelopeRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_envelope_response_v0(buf: Buffer, pos: int) -> tuple[EnvelopeResponse, int]:
    response_data, pos = read_compact_nullable_bytes(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return EnvelopeResponse(response_data=response_data, error_code=error_code), pos


def _write_envelope_response_v0(out: bytearray, message: EnvelopeResponse) -> None:
    write_compact_nullable_bytes(out, message.response_data)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[EnvelopeResponse, int]], ...]] = (
    _read_envelope_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, EnvelopeResponse], None], ...]] = (
    _write_envelope_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> EnvelopeResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("EnvelopeResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("EnvelopeResponse is cut short") from error


def encode_response_into(out: bytearray, message: EnvelopeResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("EnvelopeResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"EnvelopeResponse holds a value out of range: {error}") from error


def encode_response(message: EnvelopeResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
