"""UnregisterBrokerRequest and UnregisterBrokerResponse.

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
    read_compact_nullable_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_nullable_string,
)

API_KEY: Final = 64
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class UnregisterBrokerRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0


class UnregisterBrokerResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


def _read_unregister_broker_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[UnregisterBrokerRequest, int]:
    broker_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return UnregisterBrokerRequest(broker_id=broker_id), pos


def _write_unregister_broker_request_v0(out: bytearray, message: UnregisterBrokerRequest) -> None:
    out += _PACKED_i.pack(message.broker_id)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[UnregisterBrokerRequest, int]], ...]] = (
    _read_unregister_broker_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, UnregisterBrokerRequest], None], ...]] = (
    _write_unregister_broker_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> UnregisterBrokerRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("UnregisterBrokerRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UnregisterBrokerRequest is cut short") from error


def encode_request_into(out: bytearray, message: UnregisterBrokerRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("UnregisterBrokerRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UnregisterBrokerRequest holds a value out of range: {error}") from error


def encode_request(message: UnregisterBrokerRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_unregister_broker_response_v0(buf: Buffer, pos: int) -> tuple[UnregisterBrokerResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = UnregisterBrokerResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_unregister_broker_response_v0(out: bytearray, message: UnregisterBrokerResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[UnregisterBrokerResponse, int]], ...]] = (
    _read_unregister_broker_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, UnregisterBrokerResponse], None], ...]] = (
    _write_unregister_broker_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> UnregisterBrokerResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("UnregisterBrokerResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UnregisterBrokerResponse is cut short") from error


def encode_response_into(out: bytearray, message: UnregisterBrokerResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("UnregisterBrokerResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UnregisterBrokerResponse holds a value out of range: {error}") from error


def encode_response(message: UnregisterBrokerResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
