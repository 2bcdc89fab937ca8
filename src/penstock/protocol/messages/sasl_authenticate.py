"""SaslAuthenticateRequest and SaslAuthenticateResponse.

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
    read_bytes,
    read_compact_bytes,
    read_compact_nullable_string,
    read_nullable_string,
    skip_tagged_fields,
    unsupported_version,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_nullable_string,
)

API_KEY: Final = 36
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_h: Final = struct.Struct(">h")
_PACKED_q: Final = struct.Struct(">q")


class SaslAuthenticateRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    auth_bytes: bytes = b""


class SaslAuthenticateResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: int = 0


def _read_sasl_authenticate_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[SaslAuthenticateRequest, int]:
    auth_bytes, pos = read_bytes(buf, pos)
    return SaslAuthenticateRequest(auth_bytes=auth_bytes), pos


def _write_sasl_authenticate_request_v0(out: bytearray, message: SaslAuthenticateRequest) -> None:
    write_bytes(out, message.auth_bytes)


def _read_sasl_authenticate_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[SaslAuthenticateRequest, int]:
    auth_bytes, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return SaslAuthenticateRequest(auth_bytes=auth_bytes), pos


def _write_sasl_authenticate_request_v2(out: bytearray, message: SaslAuthenticateRequest) -> None:
    write_compact_bytes(out, message.auth_bytes)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[SaslAuthenticateRequest, int]], ...]] = (
    _read_sasl_authenticate_request_v0,
    _read_sasl_authenticate_request_v0,
    _read_sasl_authenticate_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, SaslAuthenticateRequest], None], ...]] = (
    _write_sasl_authenticate_request_v0,
    _write_sasl_authenticate_request_v0,
    _write_sasl_authenticate_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> SaslAuthenticateRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("SaslAuthenticateRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SaslAuthenticateRequest is cut short") from error


def encode_request_into(out: bytearray, message: SaslAuthenticateRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("SaslAuthenticateRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SaslAuthenticateRequest holds a value out of range: {error}") from error


def encode_request(message: SaslAuthenticateRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_sasl_authenticate_response_v0(buf: Buffer, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    auth_bytes, pos = read_bytes(buf, pos)
    value = SaslAuthenticateResponse(
        error_code=error_code,
        error_message=error_message,
        auth_bytes=auth_bytes,
    )
    return value, pos


def _write_sasl_authenticate_response_v0(out: bytearray, message: SaslAuthenticateResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    write_bytes(out, message.auth_bytes)


def _read_sasl_authenticate_response_v1(buf: Buffer, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    auth_bytes, pos = read_bytes(buf, pos)
    session_lifetime_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    value = SaslAuthenticateResponse(
        error_code=error_code,
        error_message=error_message,
        auth_bytes=auth_bytes,
        session_lifetime_ms=session_lifetime_ms,
    )
    return value, pos


def _write_sasl_authenticate_response_v1(out: bytearray, message: SaslAuthenticateResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    write_bytes(out, message.auth_bytes)
    out += _PACKED_q.pack(message.session_lifetime_ms)


def _read_sasl_authenticate_response_v2(buf: Buffer, pos: int) -> tuple[SaslAuthenticateResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    auth_bytes, pos = read_compact_bytes(buf, pos)
    session_lifetime_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = SaslAuthenticateResponse(
        error_code=error_code,
        error_message=error_message,
        auth_bytes=auth_bytes,
        session_lifetime_ms=session_lifetime_ms,
    )
    return value, pos


def _write_sasl_authenticate_response_v2(out: bytearray, message: SaslAuthenticateResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_bytes(out, message.auth_bytes)
    out += _PACKED_q.pack(message.session_lifetime_ms)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[SaslAuthenticateResponse, int]], ...]] = (
    _read_sasl_authenticate_response_v0,
    _read_sasl_authenticate_response_v1,
    _read_sasl_authenticate_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, SaslAuthenticateResponse], None], ...]] = (
    _write_sasl_authenticate_response_v0,
    _write_sasl_authenticate_response_v1,
    _write_sasl_authenticate_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> SaslAuthenticateResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("SaslAuthenticateResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SaslAuthenticateResponse is cut short") from error


def encode_response_into(out: bytearray, message: SaslAuthenticateResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("SaslAuthenticateResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SaslAuthenticateResponse holds a value out of range: {error}") from error


def encode_response(message: SaslAuthenticateResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
