"""CreateDelegationTokenRequest and CreateDelegationTokenResponse.

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
    read_bytes,
    read_compact_array_length,
    read_compact_bytes,
    read_compact_nullable_string,
    read_compact_string,
    read_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_bytes,
    write_compact_array_length,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_string,
)

API_KEY: Final = 38
VERSIONS: Final = range(1, 4)
FLEXIBLE_FROM: Final = 2

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_qqq: Final = struct.Struct(">qqq")


class CreatableRenewers(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    principal_type: str = ""
    principal_name: str = ""


class CreateDelegationTokenRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    owner_principal_type: str | None = ""
    owner_principal_name: str | None = ""
    renewers: list[CreatableRenewers] = []
    max_lifetime_ms: int = 0


class CreateDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp_ms: int = 0
    expiry_timestamp_ms: int = 0
    max_timestamp_ms: int = 0
    token_id: str = ""
    hmac: bytes = b""
    throttle_time_ms: int = 0


def _read_creatable_renewers_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableRenewers, int]:
    principal_type, pos = read_string(buf, pos)
    principal_name, pos = read_string(buf, pos)
    return CreatableRenewers(principal_type=principal_type, principal_name=principal_name), pos


def _write_creatable_renewers_v1(out: bytearray, message: CreatableRenewers) -> None:
    write_string(out, message.principal_type)
    write_string(out, message.principal_name)


def _read_creatable_renewers_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableRenewers, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreatableRenewers(principal_type=principal_type, principal_name=principal_name), pos


def _write_creatable_renewers_v2(out: bytearray, message: CreatableRenewers) -> None:
    write_compact_string(out, message.principal_type)
    write_compact_string(out, message.principal_name)
    out.append(0)


def _read_create_delegation_token_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[CreateDelegationTokenRequest, int]:
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    renewers: list[CreatableRenewers] = []
    for _ in range(count):
        renewers_item, pos = _read_creatable_renewers_v1(buf, pos, budget)
        renewers.append(renewers_item)
    max_lifetime_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    return CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=max_lifetime_ms), pos


def _write_create_delegation_token_request_v1(out: bytearray, message: CreateDelegationTokenRequest) -> None:
    if message.owner_principal_type != "":
        raise unsupported_field("CreateDelegationTokenRequest.owner_principal_type", 1, 1)
    if message.owner_principal_name != "":
        raise unsupported_field("CreateDelegationTokenRequest.owner_principal_name", 1, 1)
    renewers = message.renewers
    write_array_length(out, len(renewers))
    for renewers_item in renewers:
        _write_creatable_renewers_v1(out, renewers_item)
    out += _PACKED_q.pack(message.max_lifetime_ms)


def _read_create_delegation_token_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreateDelegationTokenRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    renewers: list[CreatableRenewers] = []
    for _ in range(count):
        renewers_item, pos = _read_creatable_renewers_v2(buf, pos, budget)
        renewers.append(renewers_item)
    max_lifetime_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreateDelegationTokenRequest(renewers=renewers, max_lifetime_ms=max_lifetime_ms), pos


def _write_create_delegation_token_request_v2(out: bytearray, message: CreateDelegationTokenRequest) -> None:
    if message.owner_principal_type != "":
        raise unsupported_field("CreateDelegationTokenRequest.owner_principal_type", 2, 2)
    if message.owner_principal_name != "":
        raise unsupported_field("CreateDelegationTokenRequest.owner_principal_name", 2, 2)
    renewers = message.renewers
    write_compact_array_length(out, len(renewers))
    for renewers_item in renewers:
        _write_creatable_renewers_v2(out, renewers_item)
    out += _PACKED_q.pack(message.max_lifetime_ms)
    out.append(0)


def _read_create_delegation_token_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[CreateDelegationTokenRequest, int]:
    owner_principal_type, pos = read_compact_nullable_string(buf, pos)
    owner_principal_name, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    renewers: list[CreatableRenewers] = []
    for _ in range(count):
        renewers_item, pos = _read_creatable_renewers_v2(buf, pos, budget)
        renewers.append(renewers_item)
    max_lifetime_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = CreateDelegationTokenRequest(
        owner_principal_type=owner_principal_type,
        owner_principal_name=owner_principal_name,
        renewers=renewers,
        max_lifetime_ms=max_lifetime_ms,
    )
    return value, pos


def _write_create_delegation_token_request_v3(out: bytearray, message: CreateDelegationTokenRequest) -> None:
    write_compact_nullable_string(out, message.owner_principal_type)
    write_compact_nullable_string(out, message.owner_principal_name)
    renewers = message.renewers
    write_compact_array_length(out, len(renewers))
    for renewers_item in renewers:
        _write_creatable_renewers_v2(out, renewers_item)
    out += _PACKED_q.pack(message.max_lifetime_ms)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[CreateDelegationTokenRequest, int]], ...]] = (
    _read_create_delegation_token_request_v1,
    _read_create_delegation_token_request_v2,
    _read_create_delegation_token_request_v3,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, CreateDelegationTokenRequest], None], ...]] = (
    _write_create_delegation_token_request_v1,
    _write_create_delegation_token_request_v2,
    _write_create_delegation_token_request_v3,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> CreateDelegationTokenRequest:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateDelegationTokenRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreateDelegationTokenRequest is cut short") from error


def encode_request_into(out: bytearray, message: CreateDelegationTokenRequest, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateDelegationTokenRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreateDelegationTokenRequest holds a value out of range: {error}") from error


def encode_request(message: CreateDelegationTokenRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_create_delegation_token_response_v1(buf: Buffer, pos: int) -> tuple[CreateDelegationTokenResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    principal_type, pos = read_string(buf, pos)
    principal_name, pos = read_string(buf, pos)
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms = _PACKED_qqq.unpack_from(buf, pos)
    pos += 24
    token_id, pos = read_string(buf, pos)
    hmac, pos = read_bytes(buf, pos)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = CreateDelegationTokenResponse(
        error_code=error_code,
        principal_type=principal_type,
        principal_name=principal_name,
        issue_timestamp_ms=issue_timestamp_ms,
        expiry_timestamp_ms=expiry_timestamp_ms,
        max_timestamp_ms=max_timestamp_ms,
        token_id=token_id,
        hmac=hmac,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_create_delegation_token_response_v1(out: bytearray, message: CreateDelegationTokenResponse) -> None:
    if message.token_requester_principal_type != "":
        raise unsupported_field("CreateDelegationTokenResponse.token_requester_principal_type", 1, 1)
    if message.token_requester_principal_name != "":
        raise unsupported_field("CreateDelegationTokenResponse.token_requester_principal_name", 1, 1)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, message.principal_type)
    write_string(out, message.principal_name)
    out += _PACKED_qqq.pack(message.issue_timestamp_ms, message.expiry_timestamp_ms, message.max_timestamp_ms)
    write_string(out, message.token_id)
    write_bytes(out, message.hmac)
    out += _PACKED_i.pack(message.throttle_time_ms)


def _read_create_delegation_token_response_v2(buf: Buffer, pos: int) -> tuple[CreateDelegationTokenResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms = _PACKED_qqq.unpack_from(buf, pos)
    pos += 24
    token_id, pos = read_compact_string(buf, pos)
    hmac, pos = read_compact_bytes(buf, pos)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = CreateDelegationTokenResponse(
        error_code=error_code,
        principal_type=principal_type,
        principal_name=principal_name,
        issue_timestamp_ms=issue_timestamp_ms,
        expiry_timestamp_ms=expiry_timestamp_ms,
        max_timestamp_ms=max_timestamp_ms,
        token_id=token_id,
        hmac=hmac,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_create_delegation_token_response_v2(out: bytearray, message: CreateDelegationTokenResponse) -> None:
    if message.token_requester_principal_type != "":
        raise unsupported_field("CreateDelegationTokenResponse.token_requester_principal_type", 2, 2)
    if message.token_requester_principal_name != "":
        raise unsupported_field("CreateDelegationTokenResponse.token_requester_principal_name", 2, 2)
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, message.principal_type)
    write_compact_string(out, message.principal_name)
    out += _PACKED_qqq.pack(message.issue_timestamp_ms, message.expiry_timestamp_ms, message.max_timestamp_ms)
    write_compact_string(out, message.token_id)
    write_compact_bytes(out, message.hmac)
    out += _PACKED_i.pack(message.throttle_time_ms)
    out.append(0)


def _read_create_delegation_token_response_v3(buf: Buffer, pos: int) -> tuple[CreateDelegationTokenResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    token_requester_principal_type, pos = read_compact_string(buf, pos)
    token_requester_principal_name, pos = read_compact_string(buf, pos)
    issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms = _PACKED_qqq.unpack_from(buf, pos)
    pos += 24
    token_id, pos = read_compact_string(buf, pos)
    hmac, pos = read_compact_bytes(buf, pos)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = CreateDelegationTokenResponse(
        error_code=error_code,
        principal_type=principal_type,
        principal_name=principal_name,
        token_requester_principal_type=token_requester_principal_type,
        token_requester_principal_name=token_requester_principal_name,
        issue_timestamp_ms=issue_timestamp_ms,
        expiry_timestamp_ms=expiry_timestamp_ms,
        max_timestamp_ms=max_timestamp_ms,
        token_id=token_id,
        hmac=hmac,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_create_delegation_token_response_v3(out: bytearray, message: CreateDelegationTokenResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, message.principal_type)
    write_compact_string(out, message.principal_name)
    write_compact_string(out, message.token_requester_principal_type)
    write_compact_string(out, message.token_requester_principal_name)
    out += _PACKED_qqq.pack(message.issue_timestamp_ms, message.expiry_timestamp_ms, message.max_timestamp_ms)
    write_compact_string(out, message.token_id)
    write_compact_bytes(out, message.hmac)
    out += _PACKED_i.pack(message.throttle_time_ms)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[CreateDelegationTokenResponse, int]], ...]] = (
    _read_create_delegation_token_response_v1,
    _read_create_delegation_token_response_v2,
    _read_create_delegation_token_response_v3,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, CreateDelegationTokenResponse], None], ...]] = (
    _write_create_delegation_token_response_v1,
    _write_create_delegation_token_response_v2,
    _write_create_delegation_token_response_v3,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> CreateDelegationTokenResponse:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateDelegationTokenResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreateDelegationTokenResponse is cut short") from error


def encode_response_into(out: bytearray, message: CreateDelegationTokenResponse, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateDelegationTokenResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreateDelegationTokenResponse holds a value out of range: {error}") from error


def encode_response(message: CreateDelegationTokenResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
