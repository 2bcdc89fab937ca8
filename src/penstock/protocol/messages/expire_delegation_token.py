"""ExpireDelegationTokenRequest and ExpireDelegationTokenResponse.

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
    skip_tagged_fields,
    unsupported_version,
    write_bytes,
    write_compact_bytes,
)

API_KEY: Final = 40
VERSIONS: Final = range(1, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_hqi: Final = struct.Struct(">hqi")
_PACKED_q: Final = struct.Struct(">q")


class ExpireDelegationTokenRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    hmac: bytes = b""
    expiry_time_period_ms: int = 0


class ExpireDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    expiry_timestamp_ms: int = 0
    throttle_time_ms: int = 0


def _read_expire_delegation_token_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ExpireDelegationTokenRequest, int]:
    hmac, pos = read_bytes(buf, pos)
    expiry_time_period_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    return ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_time_period_ms), pos


def _write_expire_delegation_token_request_v1(out: bytearray, message: ExpireDelegationTokenRequest) -> None:
    write_bytes(out, message.hmac)
    out += _PACKED_q.pack(message.expiry_time_period_ms)


def _read_expire_delegation_token_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[ExpireDelegationTokenRequest, int]:
    hmac, pos = read_compact_bytes(buf, pos)
    expiry_time_period_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_time_period_ms), pos


def _write_expire_delegation_token_request_v2(out: bytearray, message: ExpireDelegationTokenRequest) -> None:
    write_compact_bytes(out, message.hmac)
    out += _PACKED_q.pack(message.expiry_time_period_ms)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ExpireDelegationTokenRequest, int]], ...]] = (
    _read_expire_delegation_token_request_v1,
    _read_expire_delegation_token_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ExpireDelegationTokenRequest], None], ...]] = (
    _write_expire_delegation_token_request_v1,
    _write_expire_delegation_token_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ExpireDelegationTokenRequest:
    if not 1 <= version <= 2:
        raise unsupported_version("ExpireDelegationTokenRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ExpireDelegationTokenRequest is cut short") from error


def encode_request_into(out: bytearray, message: ExpireDelegationTokenRequest, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("ExpireDelegationTokenRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ExpireDelegationTokenRequest holds a value out of range: {error}") from error


def encode_request(message: ExpireDelegationTokenRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_expire_delegation_token_response_v1(buf: Buffer, pos: int) -> tuple[ExpireDelegationTokenResponse, int]:
    error_code, expiry_timestamp_ms, throttle_time_ms = _PACKED_hqi.unpack_from(buf, pos)
    pos += 14
    value = ExpireDelegationTokenResponse(
        error_code=error_code,
        expiry_timestamp_ms=expiry_timestamp_ms,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_expire_delegation_token_response_v1(out: bytearray, message: ExpireDelegationTokenResponse) -> None:
    out += _PACKED_hqi.pack(message.error_code, message.expiry_timestamp_ms, message.throttle_time_ms)


def _read_expire_delegation_token_response_v2(buf: Buffer, pos: int) -> tuple[ExpireDelegationTokenResponse, int]:
    error_code, expiry_timestamp_ms, throttle_time_ms = _PACKED_hqi.unpack_from(buf, pos)
    pos += 14
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ExpireDelegationTokenResponse(
        error_code=error_code,
        expiry_timestamp_ms=expiry_timestamp_ms,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_expire_delegation_token_response_v2(out: bytearray, message: ExpireDelegationTokenResponse) -> None:
    out += _PACKED_hqi.pack(message.error_code, message.expiry_timestamp_ms, message.throttle_time_ms)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ExpireDelegationTokenResponse, int]], ...]] = (
    _read_expire_delegation_token_response_v1,
    _read_expire_delegation_token_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ExpireDelegationTokenResponse], None], ...]] = (
    _write_expire_delegation_token_response_v1,
    _write_expire_delegation_token_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ExpireDelegationTokenResponse:
    if not 1 <= version <= 2:
        raise unsupported_version("ExpireDelegationTokenResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ExpireDelegationTokenResponse is cut short") from error


def encode_response_into(out: bytearray, message: ExpireDelegationTokenResponse, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("ExpireDelegationTokenResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ExpireDelegationTokenResponse holds a value out of range: {error}") from error


def encode_response(message: ExpireDelegationTokenResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
