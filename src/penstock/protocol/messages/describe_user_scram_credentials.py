"""DescribeUserScramCredentialsRequest and DescribeUserScramCredentialsResponse.

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
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 50
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_bi: Final = struct.Struct(">bi")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_ih: Final = struct.Struct(">ih")


class UserName(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""


class DescribeUserScramCredentialsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    users: list[UserName] | None = []


class CredentialInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    mechanism: int = 0
    iterations: int = 0


class DescribeUserScramCredentialsResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    user: str = ""
    error_code: int = 0
    error_message: str | None = ""
    credential_infos: list[CredentialInfo] = []


class DescribeUserScramCredentialsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[DescribeUserScramCredentialsResult] = []


def _read_user_name_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[UserName, int]:
    name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return UserName(name=name), pos


def _write_user_name_v0(out: bytearray, message: UserName) -> None:
    write_compact_string(out, message.name)
    out.append(0)


def _read_describe_user_scram_credentials_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeUserScramCredentialsRequest, int]:
    count, pos = read_compact_nullable_array_length(buf, pos, 2)
    budget.take(count)
    users: list[UserName] | None = None
    if count >= 0:
        users = []
        for _ in range(count):
            users_item, pos = _read_user_name_v0(buf, pos, budget)
            users.append(users_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeUserScramCredentialsRequest(users=users), pos


def _write_describe_user_scram_credentials_request_v0(out: bytearray, message: DescribeUserScramCredentialsRequest) -> None:
    users = message.users
    if users is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(users))
        for users_item in users:
            _write_user_name_v0(out, users_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeUserScramCredentialsRequest, int]], ...]] = (
    _read_describe_user_scram_credentials_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeUserScramCredentialsRequest], None], ...]] = (
    _write_describe_user_scram_credentials_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeUserScramCredentialsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeUserScramCredentialsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeUserScramCredentialsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeUserScramCredentialsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeUserScramCredentialsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeUserScramCredentialsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeUserScramCredentialsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_credential_info_v0(buf: Buffer, pos: int) -> tuple[CredentialInfo, int]:
    mechanism, iterations = _PACKED_bi.unpack_from(buf, pos)
    pos += 5
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return CredentialInfo(mechanism=mechanism, iterations=iterations), pos


def _write_credential_info_v0(out: bytearray, message: CredentialInfo) -> None:
    out += _PACKED_bi.pack(message.mechanism, message.iterations)
    out.append(0)


def _read_describe_user_scram_credentials_result_v0(buf: Buffer, pos: int) -> tuple[DescribeUserScramCredentialsResult, int]:
    user, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 6)
    credential_infos: list[CredentialInfo] = []
    for _ in range(count):
        credential_infos_item, pos = _read_credential_info_v0(buf, pos)
        credential_infos.append(credential_infos_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeUserScramCredentialsResult(
        user=user,
        error_code=error_code,
        error_message=error_message,
        credential_infos=credential_infos,
    )
    return value, pos


def _write_describe_user_scram_credentials_result_v0(out: bytearray, message: DescribeUserScramCredentialsResult) -> None:
    write_compact_string(out, message.user)
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    credential_infos = message.credential_infos
    write_compact_array_length(out, len(credential_infos))
    for credential_infos_item in credential_infos:
        _write_credential_info_v0(out, credential_infos_item)
    out.append(0)


def _read_describe_user_scram_credentials_response_v0(buf: Buffer, pos: int) -> tuple[DescribeUserScramCredentialsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 6)
    results: list[DescribeUserScramCredentialsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_user_scram_credentials_result_v0(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeUserScramCredentialsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        results=results,
    )
    return value, pos


def _write_describe_user_scram_credentials_response_v0(out: bytearray, message: DescribeUserScramCredentialsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_describe_user_scram_credentials_result_v0(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeUserScramCredentialsResponse, int]], ...]] = (
    _read_describe_user_scram_credentials_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeUserScramCredentialsResponse], None], ...]] = (
    _write_describe_user_scram_credentials_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeUserScramCredentialsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeUserScramCredentialsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeUserScramCredentialsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeUserScramCredentialsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeUserScramCredentialsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeUserScramCredentialsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeUserScramCredentialsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
