"""DescribeDelegationTokenRequest and DescribeDelegationTokenResponse.

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
    read_compact_nullable_array_length,
    read_compact_string,
    read_nullable_array_length,
    read_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_bytes,
    write_compact_array_length,
    write_compact_bytes,
    write_compact_string,
    write_string,
)

API_KEY: Final = 41
VERSIONS: Final = range(1, 4)
FLEXIBLE_FROM: Final = 2

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_qqq: Final = struct.Struct(">qqq")


class DescribeDelegationTokenOwner(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    principal_type: str = ""
    principal_name: str = ""


class DescribeDelegationTokenRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    owners: list[DescribeDelegationTokenOwner] | None = []


class DescribedDelegationTokenRenewer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    principal_type: str = ""
    principal_name: str = ""


class DescribedDelegationToken(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    principal_type: str = ""
    principal_name: str = ""
    token_requester_principal_type: str = ""
    token_requester_principal_name: str = ""
    issue_timestamp: int = 0
    expiry_timestamp: int = 0
    max_timestamp: int = 0
    token_id: str = ""
    hmac: bytes = b""
    renewers: list[DescribedDelegationTokenRenewer] = []


class DescribeDelegationTokenResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    tokens: list[DescribedDelegationToken] = []
    throttle_time_ms: int = 0


def _read_describe_delegation_token_owner_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeDelegationTokenOwner, int]:
    principal_type, pos = read_string(buf, pos)
    principal_name, pos = read_string(buf, pos)
    value = DescribeDelegationTokenOwner(
        principal_type=principal_type,
        principal_name=principal_name,
    )
    return value, pos


def _write_describe_delegation_token_owner_v1(out: bytearray, message: DescribeDelegationTokenOwner) -> None:
    write_string(out, message.principal_type)
    write_string(out, message.principal_name)


def _read_describe_delegation_token_owner_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeDelegationTokenOwner, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeDelegationTokenOwner(
        principal_type=principal_type,
        principal_name=principal_name,
    )
    return value, pos


def _write_describe_delegation_token_owner_v2(out: bytearray, message: DescribeDelegationTokenOwner) -> None:
    write_compact_string(out, message.principal_type)
    write_compact_string(out, message.principal_name)
    out.append(0)


def _read_describe_delegation_token_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeDelegationTokenRequest, int]:
    count, pos = read_nullable_array_length(buf, pos, 4)
    budget.take(count)
    owners: list[DescribeDelegationTokenOwner] | None = None
    if count >= 0:
        owners = []
        for _ in range(count):
            owners_item, pos = _read_describe_delegation_token_owner_v1(buf, pos, budget)
            owners.append(owners_item)
    return DescribeDelegationTokenRequest(owners=owners), pos


def _write_describe_delegation_token_request_v1(out: bytearray, message: DescribeDelegationTokenRequest) -> None:
    owners = message.owners
    if owners is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(owners))
        for owners_item in owners:
            _write_describe_delegation_token_owner_v1(out, owners_item)


def _read_describe_delegation_token_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeDelegationTokenRequest, int]:
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    owners: list[DescribeDelegationTokenOwner] | None = None
    if count >= 0:
        owners = []
        for _ in range(count):
            owners_item, pos = _read_describe_delegation_token_owner_v2(buf, pos, budget)
            owners.append(owners_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeDelegationTokenRequest(owners=owners), pos


def _write_describe_delegation_token_request_v2(out: bytearray, message: DescribeDelegationTokenRequest) -> None:
    owners = message.owners
    if owners is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(owners))
        for owners_item in owners:
            _write_describe_delegation_token_owner_v2(out, owners_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeDelegationTokenRequest, int]], ...]] = (
    _read_describe_delegation_token_request_v1,
    _read_describe_delegation_token_request_v2,
    _read_describe_delegation_token_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeDelegationTokenRequest], None], ...]] = (
    _write_describe_delegation_token_request_v1,
    _write_describe_delegation_token_request_v2,
    _write_describe_delegation_token_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeDelegationTokenRequest:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeDelegationTokenRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeDelegationTokenRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeDelegationTokenRequest, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeDelegationTokenRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeDelegationTokenRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeDelegationTokenRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_described_delegation_token_renewer_v1(buf: Buffer, pos: int) -> tuple[DescribedDelegationTokenRenewer, int]:
    principal_type, pos = read_string(buf, pos)
    principal_name, pos = read_string(buf, pos)
    value = DescribedDelegationTokenRenewer(
        principal_type=principal_type,
        principal_name=principal_name,
    )
    return value, pos


def _write_described_delegation_token_renewer_v1(out: bytearray, message: DescribedDelegationTokenRenewer) -> None:
    write_string(out, message.principal_type)
    write_string(out, message.principal_name)


def _read_described_delegation_token_renewer_v2(buf: Buffer, pos: int) -> tuple[DescribedDelegationTokenRenewer, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedDelegationTokenRenewer(
        principal_type=principal_type,
        principal_name=principal_name,
    )
    return value, pos


def _write_described_delegation_token_renewer_v2(out: bytearray, message: DescribedDelegationTokenRenewer) -> None:
    write_compact_string(out, message.principal_type)
    write_compact_string(out, message.principal_name)
    out.append(0)


def _read_described_delegation_token_v1(buf: Buffer, pos: int) -> tuple[DescribedDelegationToken, int]:
    principal_type, pos = read_string(buf, pos)
    principal_name, pos = read_string(buf, pos)
    issue_timestamp, expiry_timestamp, max_timestamp = _PACKED_qqq.unpack_from(buf, pos)
    pos += 24
    token_id, pos = read_string(buf, pos)
    hmac, pos = read_bytes(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    renewers: list[DescribedDelegationTokenRenewer] = []
    for _ in range(count):
        renewers_item, pos = _read_described_delegation_token_renewer_v1(buf, pos)
        renewers.append(renewers_item)
    value = DescribedDelegationToken(
        principal_type=principal_type,
        principal_name=principal_name,
        issue_timestamp=issue_timestamp,
        expiry_timestamp=expiry_timestamp,
        max_timestamp=max_timestamp,
        token_id=token_id,
        hmac=hmac,
        renewers=renewers,
    )
    return value, pos


def _write_described_delegation_token_v1(out: bytearray, message: DescribedDelegationToken) -> None:
    if message.token_requester_principal_type != "":
        raise unsupported_field("DescribedDelegationToken.token_requester_principal_type", 1, 1)
    if message.token_requester_principal_name != "":
        raise unsupported_field("DescribedDelegationToken.token_requester_principal_name", 1, 1)
    write_string(out, message.principal_type)
    write_string(out, message.principal_name)
    out += _PACKED_qqq.pack(message.issue_timestamp, message.expiry_timestamp, message.max_timestamp)
    write_string(out, message.token_id)
    write_bytes(out, message.hmac)
    renewers = message.renewers
    write_array_length(out, len(renewers))
    for renewers_item in renewers:
        _write_described_delegation_token_renewer_v1(out, renewers_item)


def _read_described_delegation_token_v2(buf: Buffer, pos: int) -> tuple[DescribedDelegationToken, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    issue_timestamp, expiry_timestamp, max_timestamp = _PACKED_qqq.unpack_from(buf, pos)
    pos += 24
    token_id, pos = read_compact_string(buf, pos)
    hmac, pos = read_compact_bytes(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    renewers: list[DescribedDelegationTokenRenewer] = []
    for _ in range(count):
        renewers_item, pos = _read_described_delegation_token_renewer_v2(buf, pos)
        renewers.append(renewers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedDelegationToken(
        principal_type=principal_type,
        principal_name=principal_name,
        issue_timestamp=issue_timestamp,
        expiry_timestamp=expiry_timestamp,
        max_timestamp=max_timestamp,
        token_id=token_id,
        hmac=hmac,
        renewers=renewers,
    )
    return value, pos


def _write_described_delegation_token_v2(out: bytearray, message: DescribedDelegationToken) -> None:
    if message.token_requester_principal_type != "":
        raise unsupported_field("DescribedDelegationToken.token_requester_principal_type", 2, 2)
    if message.token_requester_principal_name != "":
        raise unsupported_field("DescribedDelegationToken.token_requester_principal_name", 2, 2)
    write_compact_string(out, message.principal_type)
    write_compact_string(out, message.principal_name)
    out += _PACKED_qqq.pack(message.issue_timestamp, message.expiry_timestamp, message.max_timestamp)
    write_compact_string(out, message.token_id)
    write_compact_bytes(out, message.hmac)
    renewers = message.renewers
    write_compact_array_length(out, len(renewers))
    for renewers_item in renewers:
        _write_described_delegation_token_renewer_v2(out, renewers_item)
    out.append(0)


def _read_described_delegation_token_v3(buf: Buffer, pos: int) -> tuple[DescribedDelegationToken, int]:
    principal_type, pos = read_compact_string(buf, pos)
    principal_name, pos = read_compact_string(buf, pos)
    token_requester_principal_type, pos = read_compact_string(buf, pos)
    token_requester_principal_name, pos = read_compact_string(buf, pos)
    issue_timestamp, expiry_timestamp, max_timestamp = _PACKED_qqq.unpack_from(buf, pos)
    pos += 24
    token_id, pos = read_compact_string(buf, pos)
    hmac, pos = read_compact_bytes(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    renewers: list[DescribedDelegationTokenRenewer] = []
    for _ in range(count):
        renewers_item, pos = _read_described_delegation_token_renewer_v2(buf, pos)
        renewers.append(renewers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedDelegationToken(
        principal_type=principal_type,
        principal_name=principal_name,
        token_requester_principal_type=token_requester_principal_type,
        token_requester_principal_name=token_requester_principal_name,
        issue_timestamp=issue_timestamp,
        expiry_timestamp=expiry_timestamp,
        max_timestamp=max_timestamp,
        token_id=token_id,
        hmac=hmac,
        renewers=renewers,
    )
    return value, pos


def _write_described_delegation_token_v3(out: bytearray, message: DescribedDelegationToken) -> None:
    write_compact_string(out, message.principal_type)
    write_compact_string(out, message.principal_name)
    write_compact_string(out, message.token_requester_principal_type)
    write_compact_string(out, message.token_requester_principal_name)
    out += _PACKED_qqq.pack(message.issue_timestamp, message.expiry_timestamp, message.max_timestamp)
    write_compact_string(out, message.token_id)
    write_compact_bytes(out, message.hmac)
    renewers = message.renewers
    write_compact_array_length(out, len(renewers))
    for renewers_item in renewers:
        _write_described_delegation_token_renewer_v2(out, renewers_item)
    out.append(0)


def _read_describe_delegation_token_response_v1(buf: Buffer, pos: int) -> tuple[DescribeDelegationTokenResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_array_length(buf, pos, 38)
    tokens: list[DescribedDelegationToken] = []
    for _ in range(count):
        tokens_item, pos = _read_described_delegation_token_v1(buf, pos)
        tokens.append(tokens_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = DescribeDelegationTokenResponse(
        error_code=error_code,
        tokens=tokens,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_describe_delegation_token_response_v1(out: bytearray, message: DescribeDelegationTokenResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    tokens = message.tokens
    write_array_length(out, len(tokens))
    for tokens_item in tokens:
        _write_described_delegation_token_v1(out, tokens_item)
    out += _PACKED_i.pack(message.throttle_time_ms)


def _read_describe_delegation_token_response_v2(buf: Buffer, pos: int) -> tuple[DescribeDelegationTokenResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 30)
    tokens: list[DescribedDelegationToken] = []
    for _ in range(count):
        tokens_item, pos = _read_described_delegation_token_v2(buf, pos)
        tokens.append(tokens_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeDelegationTokenResponse(
        error_code=error_code,
        tokens=tokens,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_describe_delegation_token_response_v2(out: bytearray, message: DescribeDelegationTokenResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    tokens = message.tokens
    write_compact_array_length(out, len(tokens))
    for tokens_item in tokens:
        _write_described_delegation_token_v2(out, tokens_item)
    out += _PACKED_i.pack(message.throttle_time_ms)
    out.append(0)


def _read_describe_delegation_token_response_v3(buf: Buffer, pos: int) -> tuple[DescribeDelegationTokenResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 32)
    tokens: list[DescribedDelegationToken] = []
    for _ in range(count):
        tokens_item, pos = _read_described_delegation_token_v3(buf, pos)
        tokens.append(tokens_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeDelegationTokenResponse(
        error_code=error_code,
        tokens=tokens,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_describe_delegation_token_response_v3(out: bytearray, message: DescribeDelegationTokenResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    tokens = message.tokens
    write_compact_array_length(out, len(tokens))
    for tokens_item in tokens:
        _write_described_delegation_token_v3(out, tokens_item)
    out += _PACKED_i.pack(message.throttle_time_ms)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeDelegationTokenResponse, int]], ...]] = (
    _read_describe_delegation_token_response_v1,
    _read_describe_delegation_token_response_v2,
    _read_describe_delegation_token_response_v3,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeDelegationTokenResponse], None], ...]] = (
    _write_describe_delegation_token_response_v1,
    _write_describe_delegation_token_response_v2,
    _write_describe_delegation_token_response_v3,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeDelegationTokenResponse:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeDelegationTokenResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeDelegationTokenResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeDelegationTokenResponse, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeDelegationTokenResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeDelegationTokenResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeDelegationTokenResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
