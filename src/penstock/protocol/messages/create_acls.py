"""CreateAclsRequest and CreateAclsResponse.

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
    read_compact_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 30
VERSIONS: Final = range(1, 4)
FLEXIBLE_FROM: Final = 2

_PACKED_b: Final = struct.Struct(">b")
_PACKED_bb: Final = struct.Struct(">bb")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")


class AclCreation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    resource_pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0


class CreateAclsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    creations: list[AclCreation] = []


class AclCreationResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""


class CreateAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    results: list[AclCreationResult] = []


def _read_acl_creation_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AclCreation, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    resource_pattern_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal, pos = read_string(buf, pos)
    host, pos = read_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    value = AclCreation(
        resource_type=resource_type,
        resource_name=resource_name,
        resource_pattern_type=resource_pattern_type,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_acl_creation_v1(out: bytearray, message: AclCreation) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)
    out += _PACKED_b.pack(message.resource_pattern_type)
    write_string(out, message.principal)
    write_string(out, message.host)
    out += _PACKED_bb.pack(message.operation, message.permission_type)


def _read_acl_creation_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AclCreation, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    resource_pattern_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AclCreation(
        resource_type=resource_type,
        resource_name=resource_name,
        resource_pattern_type=resource_pattern_type,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_acl_creation_v2(out: bytearray, message: AclCreation) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    out += _PACKED_b.pack(message.resource_pattern_type)
    write_compact_string(out, message.principal)
    write_compact_string(out, message.host)
    out += _PACKED_bb.pack(message.operation, message.permission_type)
    out.append(0)


def _read_create_acls_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[CreateAclsRequest, int]:
    count, pos = read_array_length(buf, pos, 10)
    budget.take(count)
    creations: list[AclCreation] = []
    for _ in range(count):
        creations_item, pos = _read_acl_creation_v1(buf, pos, budget)
        creations.append(creations_item)
    return CreateAclsRequest(creations=creations), pos


def _write_create_acls_request_v1(out: bytearray, message: CreateAclsRequest) -> None:
    creations = message.creations
    write_array_length(out, len(creations))
    for creations_item in creations:
        _write_acl_creation_v1(out, creations_item)


def _read_create_acls_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreateAclsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    creations: list[AclCreation] = []
    for _ in range(count):
        creations_item, pos = _read_acl_creation_v2(buf, pos, budget)
        creations.append(creations_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreateAclsRequest(creations=creations), pos


def _write_create_acls_request_v2(out: bytearray, message: CreateAclsRequest) -> None:
    creations = message.creations
    write_compact_array_length(out, len(creations))
    for creations_item in creations:
        _write_acl_creation_v2(out, creations_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[CreateAclsRequest, int]], ...]] = (
    _read_create_acls_request_v1,
    _read_create_acls_request_v2,
    _read_create_acls_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, CreateAclsRequest], None], ...]] = (
    _write_create_acls_request_v1,
    _write_create_acls_request_v2,
    _write_create_acls_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> CreateAclsRequest:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateAclsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreateAclsRequest is cut short") from error


def encode_request_into(out: bytearray, message: CreateAclsRequest, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateAclsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreateAclsRequest holds a value out of range: {error}") from error


def encode_request(message: CreateAclsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_acl_creation_result_v1(buf: Buffer, pos: int) -> tuple[AclCreationResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    return AclCreationResult(error_code=error_code, error_message=error_message), pos


def _write_acl_creation_result_v1(out: bytearray, message: AclCreationResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)


def _read_acl_creation_result_v2(buf: Buffer, pos: int) -> tuple[AclCreationResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AclCreationResult(error_code=error_code, error_message=error_message), pos


def _write_acl_creation_result_v2(out: bytearray, message: AclCreationResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_create_acls_response_v1(buf: Buffer, pos: int) -> tuple[CreateAclsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 4)
    results: list[AclCreationResult] = []
    for _ in range(count):
        results_item, pos = _read_acl_creation_result_v1(buf, pos)
        results.append(results_item)
    return CreateAclsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_create_acls_response_v1(out: bytearray, message: CreateAclsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_array_length(out, len(results))
    for results_item in results:
        _write_acl_creation_result_v1(out, results_item)


def _read_create_acls_response_v2(buf: Buffer, pos: int) -> tuple[CreateAclsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 4)
    results: list[AclCreationResult] = []
    for _ in range(count):
        results_item, pos = _read_acl_creation_result_v2(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return CreateAclsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_create_acls_response_v2(out: bytearray, message: CreateAclsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_acl_creation_result_v2(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[CreateAclsResponse, int]], ...]] = (
    _read_create_acls_response_v1,
    _read_create_acls_response_v2,
    _read_create_acls_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, CreateAclsResponse], None], ...]] = (
    _write_create_acls_response_v1,
    _write_create_acls_response_v2,
    _write_create_acls_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> CreateAclsResponse:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateAclsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreateAclsResponse is cut short") from error


def encode_response_into(out: bytearray, message: CreateAclsResponse, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("CreateAclsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreateAclsResponse holds a value out of range: {error}") from error


def encode_response(message: CreateAclsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
