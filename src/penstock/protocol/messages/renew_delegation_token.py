"""RenewDelegationTokenRequest and RenewDelegationTokenResponse.

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

API_KEY: Final = 39
VERSIONS: Final = range(1, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_hqi: Final = struct.Struct(">hqi")
_PACKED_q: Final = struct.Struct(">q")


class RenewDelegationTokenRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    hmac: bytes = b""
    renew_period_ms: int = 0


class RenewDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    expiry_timestamp_ms: int = 0
    throttle_time_ms: int = 0


def _read_renew_delegation_token_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RenewDelegationTokenRequest, int]:
    hmac, pos = read_bytes(buf, pos)
    renew_period_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    return RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms), pos


def _write_renew_delegation_token_request_v1(out: bytearray, message: RenewDelegationTokenRequest) -> None:
    write_bytes(out, message.hmac)
    out += _PACKED_q.pack(message.renew_period_ms)


def _read_renew_delegation_token_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[RenewDelegationTokenRequest, int]:
    hmac, pos = read_compact_bytes(buf, pos)
    renew_period_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms), pos


def _write_renew_delegation_token_request_v2(out: bytearray, message: RenewDelegationTokenRequest) -> None:
    write_compact_bytes(out, message.hmac)
    out += _PACKED_q.pack(message.renew_period_ms)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[RenewDelegationTokenRequest, int]], ...]] = (
    _read_renew_delegation_token_request_v1,
    _read_renew_delegation_token_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, RenewDelegationTokenRequest], None], ...]] = (
    _write_renew_delegation_token_request_v1,
    _write_renew_delegation_token_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> RenewDelegationTokenRequest:
    if not 1 <= version <= 2:
        raise unsupported_version("RenewDelegationTokenRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RenewDelegationTokenRequest is cut short") from error


def encode_request_into(out: bytearray, message: RenewDelegationTokenRequest, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("RenewDelegationTokenRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"RenewDelegationTokenRequest holds a value out of range: {error}") from error


def encode_request(message: RenewDelegationTokenRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_renew_delegation_token_response_v1(buf: Buffer, pos: int) -> tuple[RenewDelegationTokenResponse, int]:
    error_code, expiry_timestamp_ms, throttle_time_ms = _PACKED_hqi.unpack_from(buf, pos)
    pos += 14
    value = RenewDelegationTokenResponse(
        error_code=error_code,
        expiry_timestamp_ms=expiry_timestamp_ms,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_renew_delegation_token_response_v1(out: bytearray, message: RenewDelegationTokenResponse) -> None:
    out += _PACKED_hqi.pack(message.error_code, message.expiry_timestamp_ms, message.throttle_time_ms)


def _read_renew_delegation_token_response_v2(buf: Buffer, pos: int) -> tuple[RenewDelegationTokenResponse, int]:
    error_code, expiry_timestamp_ms, throttle_time_ms = _PACKED_hqi.unpack_from(buf, pos)
    pos += 14
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = RenewDelegationTokenResponse(
        error_code=error_code,
        expiry_timestamp_ms=expiry_timestamp_ms,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_renew_delegation_token_response_v2(out: bytearray, message: RenewDelegationTokenResponse) -> None:
    out += _PACKED_hqi.pack(message.error_code, message.expiry_timestamp_ms, message.throttle_time_ms)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[RenewDelegationTokenResponse, int]], ...]] = (
    _read_renew_delegation_token_response_v1,
    _read_renew_delegation_token_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, RenewDelegationTokenResponse], None], ...]] = (
    _write_renew_delegation_token_response_v1,
    _write_renew_delegation_token_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> RenewDelegationTokenResponse:
    if not 1 <= version <= 2:
        raise unsupported_version("RenewDelegationTokenResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RenewDelegationTokenResponse is cut short") from error


def encode_response_into(out: bytearray, message: RenewDelegationTokenResponse, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("RenewDelegationTokenResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"RenewDelegationTokenResponse holds a value out of range: {error}") from error


def encode_response(message: RenewDelegationTokenResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
