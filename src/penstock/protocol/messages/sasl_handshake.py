"""SaslHandshakeRequest and SaslHandshakeResponse.

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
    read_array_length,
    read_string,
    read_strings,
    unsupported_version,
    write_array_length,
    write_string,
    write_strings,
)

API_KEY: Final = 17
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 32767

_PACKED_h: Final = struct.Struct(">h")


class SaslHandshakeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    mechanism: str = ""


class SaslHandshakeResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    mechanisms: list[str] = []


def _read_sasl_handshake_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[SaslHandshakeRequest, int]:
    mechanism, pos = read_string(buf, pos)
    return SaslHandshakeRequest(mechanism=mechanism), pos


def _write_sasl_handshake_request_v0(out: bytearray, message: SaslHandshakeRequest) -> None:
    write_string(out, message.mechanism)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[SaslHandshakeRequest, int]], ...]] = (
    _read_sasl_handshake_request_v0,
    _read_sasl_handshake_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, SaslHandshakeRequest], None], ...]] = (
    _write_sasl_handshake_request_v0,
    _write_sasl_handshake_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> SaslHandshakeRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("SaslHandshakeRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SaslHandshakeRequest is cut short") from error


def encode_request_into(out: bytearray, message: SaslHandshakeRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("SaslHandshakeRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SaslHandshakeRequest holds a value out of range: {error}") from error


def encode_request(message: SaslHandshakeRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_sasl_handshake_response_v0(buf: Buffer, pos: int) -> tuple[SaslHandshakeResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_array_length(buf, pos, 2)
    mechanisms, pos = read_strings(buf, pos, count)
    return SaslHandshakeResponse(error_code=error_code, mechanisms=mechanisms), pos


def _write_sasl_handshake_response_v0(out: bytearray, message: SaslHandshakeResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    mechanisms = message.mechanisms
    write_array_length(out, len(mechanisms))
    write_strings(out, mechanisms)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[SaslHandshakeResponse, int]], ...]] = (
    _read_sasl_handshake_response_v0,
    _read_sasl_handshake_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, SaslHandshakeResponse], None], ...]] = (
    _write_sasl_handshake_response_v0,
    _write_sasl_handshake_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> SaslHandshakeResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("SaslHandshakeResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SaslHandshakeResponse is cut short") from error


def encode_response_into(out: bytearray, message: SaslHandshakeResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("SaslHandshakeResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SaslHandshakeResponse holds a value out of range: {error}") from error


def encode_response(message: SaslHandshakeResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
