"""AlterUserScramCredentialsRequest and AlterUserScramCredentialsResponse.

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
    read_compact_bytes,
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 51
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_b: Final = struct.Struct(">b")
_PACKED_bi: Final = struct.Struct(">bi")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")


class ScramCredentialDeletion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    mechanism: int = 0


class ScramCredentialUpsertion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b""
    salted_password: bytes = b""


class AlterUserScramCredentialsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    deletions: list[ScramCredentialDeletion] = []
    upsertions: list[ScramCredentialUpsertion] = []


class AlterUserScramCredentialsResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    user: str = ""
    error_code: int = 0
    error_message: str | None = ""


class AlterUserScramCredentialsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    results: list[AlterUserScramCredentialsResult] = []


def _read_scram_credential_deletion_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ScramCredentialDeletion, int]:
    name, pos = read_compact_string(buf, pos)
    mechanism = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ScramCredentialDeletion(name=name, mechanism=mechanism), pos


def _write_scram_credential_deletion_v0(out: bytearray, message: ScramCredentialDeletion) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_b.pack(message.mechanism)
    out.append(0)


def _read_scram_credential_upsertion_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ScramCredentialUpsertion, int]:
    name, pos = read_compact_string(buf, pos)
    mechanism, iterations = _PACKED_bi.unpack_from(buf, pos)
    pos += 5
    salt, pos = read_compact_bytes(buf, pos)
    salted_password, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ScramCredentialUpsertion(
        name=name,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=salted_password,
    )
    return value, pos


def _write_scram_credential_upsertion_v0(out: bytearray, message: ScramCredentialUpsertion) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_bi.pack(message.mechanism, message.iterations)
    write_compact_bytes(out, message.salt)
    write_compact_bytes(out, message.salted_password)
    out.append(0)


def _read_alter_user_scram_credentials_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterUserScramCredentialsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    deletions: list[ScramCredentialDeletion] = []
    for _ in range(count):
        deletions_item, pos = _read_scram_credential_deletion_v0(buf, pos, budget)
        deletions.append(deletions_item)
    count, pos = read_compact_array_length(buf, pos, 9)
    budget.take(count)
    upsertions: list[ScramCredentialUpsertion] = []
    for _ in range(count):
        upsertions_item, pos = _read_scram_credential_upsertion_v0(buf, pos, budget)
        upsertions.append(upsertions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions), pos


def _write_alter_user_scram_credentials_request_v0(out: bytearray, message: AlterUserScramCredentialsRequest) -> None:
    deletions = message.deletions
    write_compact_array_length(out, len(deletions))
    for deletions_item in deletions:
        _write_scram_credential_deletion_v0(out, deletions_item)
    upsertions = message.upsertions
    write_compact_array_length(out, len(upsertions))
    for upsertions_item in upsertions:
        _write_scram_credential_upsertion_v0(out, upsertions_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AlterUserScramCredentialsRequest, int]], ...]] = (
    _read_alter_user_scram_credentials_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AlterUserScramCredentialsRequest], None], ...]] = (
    _write_alter_user_scram_credentials_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AlterUserScramCredentialsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterUserScramCredentialsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterUserScramCredentialsRequest is cut short") from error


def encode_request_into(out: bytearray, message: AlterUserScramCredentialsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterUserScramCredentialsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterUserScramCredentialsRequest holds a value out of range: {error}") from error


def encode_request(message: AlterUserScramCredentialsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_alter_user_scram_credentials_result_v0(buf: Buffer, pos: int) -> tuple[AlterUserScramCredentialsResult, int]:
    user, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterUserScramCredentialsResult(
        user=user,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_alter_user_scram_credentials_result_v0(out: bytearray, message: AlterUserScramCredentialsResult) -> None:
    write_compact_string(out, message.user)
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_alter_user_scram_credentials_response_v0(buf: Buffer, pos: int) -> tuple[AlterUserScramCredentialsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    results: list[AlterUserScramCredentialsResult] = []
    for _ in range(count):
        results_item, pos = _read_alter_user_scram_credentials_result_v0(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AlterUserScramCredentialsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_alter_user_scram_credentials_response_v0(out: bytearray, message: AlterUserScramCredentialsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_alter_user_scram_credentials_result_v0(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AlterUserScramCredentialsResponse, int]], ...]] = (
    _read_alter_user_scram_credentials_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AlterUserScramCredentialsResponse], None], ...]] = (
    _write_alter_user_scram_credentials_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AlterUserScramCredentialsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterUserScramCredentialsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterUserScramCredentialsResponse is cut short") from error


def encode_response_into(out: bytearray, message: AlterUserScramCredentialsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterUserScramCredentialsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterUserScramCredentialsResponse holds a value out of range: {error}") from error


def encode_response(message: AlterUserScramCredentialsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
