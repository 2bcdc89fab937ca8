"""DeleteAclsRequest and DeleteAclsResponse.

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

API_KEY: Final = 31
VERSIONS: Final = range(1, 4)
FLEXIBLE_FROM: Final = 2

_PACKED_b: Final = struct.Struct(">b")
_PACKED_bb: Final = struct.Struct(">bb")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")


class DeleteAclsFilter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_type_filter: int = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: int = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: int = 0
    permission_type: int = 0


class DeleteAclsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    filters: list[DeleteAclsFilter] = []


class DeleteAclsMatchingAcl(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0


class DeleteAclsFilterResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    matching_acls: list[DeleteAclsMatchingAcl] = []


class DeleteAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    filter_results: list[DeleteAclsFilterResult] = []


def _read_delete_acls_filter_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteAclsFilter, int]:
    resource_type_filter = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name_filter, pos = read_nullable_string(buf, pos)
    pattern_type_filter = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal_filter, pos = read_nullable_string(buf, pos)
    host_filter, pos = read_nullable_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    value = DeleteAclsFilter(
        resource_type_filter=resource_type_filter,
        resource_name_filter=resource_name_filter,
        pattern_type_filter=pattern_type_filter,
        principal_filter=principal_filter,
        host_filter=host_filter,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_delete_acls_filter_v1(out: bytearray, message: DeleteAclsFilter) -> None:
    out += _PACKED_b.pack(message.resource_type_filter)
    write_nullable_string(out, message.resource_name_filter)
    out += _PACKED_b.pack(message.pattern_type_filter)
    write_nullable_string(out, message.principal_filter)
    write_nullable_string(out, message.host_filter)
    out += _PACKED_bb.pack(message.operation, message.permission_type)


def _read_delete_acls_filter_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteAclsFilter, int]:
    resource_type_filter = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name_filter, pos = read_compact_nullable_string(buf, pos)
    pattern_type_filter = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal_filter, pos = read_compact_nullable_string(buf, pos)
    host_filter, pos = read_compact_nullable_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DeleteAclsFilter(
        resource_type_filter=resource_type_filter,
        resource_name_filter=resource_name_filter,
        pattern_type_filter=pattern_type_filter,
        principal_filter=principal_filter,
        host_filter=host_filter,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_delete_acls_filter_v2(out: bytearray, message: DeleteAclsFilter) -> None:
    out += _PACKED_b.pack(message.resource_type_filter)
    write_compact_nullable_string(out, message.resource_name_filter)
    out += _PACKED_b.pack(message.pattern_type_filter)
    write_compact_nullable_string(out, message.principal_filter)
    write_compact_nullable_string(out, message.host_filter)
    out += _PACKED_bb.pack(message.operation, message.permission_type)
    out.append(0)


def _read_delete_acls_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteAclsRequest, int]:
    count, pos = read_array_length(buf, pos, 10)
    budget.take(count)
    filters: list[DeleteAclsFilter] = []
    for _ in range(count):
        filters_item, pos = _read_delete_acls_filter_v1(buf, pos, budget)
        filters.append(filters_item)
    return DeleteAclsRequest(filters=filters), pos


def _write_delete_acls_request_v1(out: bytearray, message: DeleteAclsRequest) -> None:
    filters = message.filters
    write_array_length(out, len(filters))
    for filters_item in filters:
        _write_delete_acls_filter_v1(out, filters_item)


def _read_delete_acls_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteAclsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    filters: list[DeleteAclsFilter] = []
    for _ in range(count):
        filters_item, pos = _read_delete_acls_filter_v2(buf, pos, budget)
        filters.append(filters_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteAclsRequest(filters=filters), pos


def _write_delete_acls_request_v2(out: bytearray, message: DeleteAclsRequest) -> None:
    filters = message.filters
    write_compact_array_length(out, len(filters))
    for filters_item in filters:
        _write_delete_acls_filter_v2(out, filters_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DeleteAclsRequest, int]], ...]] = (
    _read_delete_acls_request_v1,
    _read_delete_acls_request_v2,
    _read_delete_acls_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DeleteAclsRequest], None], ...]] = (
    _write_delete_acls_request_v1,
    _write_delete_acls_request_v2,
    _write_delete_acls_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DeleteAclsRequest:
    if not 1 <= version <= 3:
        raise unsupported_version("DeleteAclsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteAclsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DeleteAclsRequest, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("DeleteAclsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteAclsRequest holds a value out of range: {error}") from error


def encode_request(message: DeleteAclsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_delete_acls_matching_acl_v1(buf: Buffer, pos: int) -> tuple[DeleteAclsMatchingAcl, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    pattern_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal, pos = read_string(buf, pos)
    host, pos = read_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    value = DeleteAclsMatchingAcl(
        error_code=error_code,
        error_message=error_message,
        resource_type=resource_type,
        resource_name=resource_name,
        pattern_type=pattern_type,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_delete_acls_matching_acl_v1(out: bytearray, message: DeleteAclsMatchingAcl) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)
    out += _PACKED_b.pack(message.pattern_type)
    write_string(out, message.principal)
    write_string(out, message.host)
    out += _PACKED_bb.pack(message.operation, message.permission_type)


def _read_delete_acls_matching_acl_v2(buf: Buffer, pos: int) -> tuple[DeleteAclsMatchingAcl, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    pattern_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DeleteAclsMatchingAcl(
        error_code=error_code,
        error_message=error_message,
        resource_type=resource_type,
        resource_name=resource_name,
        pattern_type=pattern_type,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_delete_acls_matching_acl_v2(out: bytearray, message: DeleteAclsMatchingAcl) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    out += _PACKED_b.pack(message.pattern_type)
    write_compact_string(out, message.principal)
    write_compact_string(out, message.host)
    out += _PACKED_bb.pack(message.operation, message.permission_type)
    out.append(0)


def _read_delete_acls_filter_result_v1(buf: Buffer, pos: int) -> tuple[DeleteAclsFilterResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    matching_acls: list[DeleteAclsMatchingAcl] = []
    for _ in range(count):
        matching_acls_item, pos = _read_delete_acls_matching_acl_v1(buf, pos)
        matching_acls.append(matching_acls_item)
    value = DeleteAclsFilterResult(
        error_code=error_code,
        error_message=error_message,
        matching_acls=matching_acls,
    )
    return value, pos


def _write_delete_acls_filter_result_v1(out: bytearray, message: DeleteAclsFilterResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    matching_acls = message.matching_acls
    write_array_length(out, len(matching_acls))
    for matching_acls_item in matching_acls:
        _write_delete_acls_matching_acl_v1(out, matching_acls_item)


def _read_delete_acls_filter_result_v2(buf: Buffer, pos: int) -> tuple[DeleteAclsFilterResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 11)
    matching_acls: list[DeleteAclsMatchingAcl] = []
    for _ in range(count):
        matching_acls_item, pos = _read_delete_acls_matching_acl_v2(buf, pos)
        matching_acls.append(matching_acls_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DeleteAclsFilterResult(
        error_code=error_code,
        error_message=error_message,
        matching_acls=matching_acls,
    )
    return value, pos


def _write_delete_acls_filter_result_v2(out: bytearray, message: DeleteAclsFilterResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    matching_acls = message.matching_acls
    write_compact_array_length(out, len(matching_acls))
    for matching_acls_item in matching_acls:
        _write_delete_acls_matching_acl_v2(out, matching_acls_item)
    out.append(0)


def _read_delete_acls_response_v1(buf: Buffer, pos: int) -> tuple[DeleteAclsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 8)
    filter_results: list[DeleteAclsFilterResult] = []
    for _ in range(count):
        filter_results_item, pos = _read_delete_acls_filter_result_v1(buf, pos)
        filter_results.append(filter_results_item)
    return DeleteAclsResponse(throttle_time_ms=throttle_time_ms, filter_results=filter_results), pos


def _write_delete_acls_response_v1(out: bytearray, message: DeleteAclsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    filter_results = message.filter_results
    write_array_length(out, len(filter_results))
    for filter_results_item in filter_results:
        _write_delete_acls_filter_result_v1(out, filter_results_item)


def _read_delete_acls_response_v2(buf: Buffer, pos: int) -> tuple[DeleteAclsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    filter_results: list[DeleteAclsFilterResult] = []
    for _ in range(count):
        filter_results_item, pos = _read_delete_acls_filter_result_v2(buf, pos)
        filter_results.append(filter_results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteAclsResponse(throttle_time_ms=throttle_time_ms, filter_results=filter_results), pos


def _write_delete_acls_response_v2(out: bytearray, message: DeleteAclsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    filter_results = message.filter_results
    write_compact_array_length(out, len(filter_results))
    for filter_results_item in filter_results:
        _write_delete_acls_filter_result_v2(out, filter_results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DeleteAclsResponse, int]], ...]] = (
    _read_delete_acls_response_v1,
    _read_delete_acls_response_v2,
    _read_delete_acls_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DeleteAclsResponse], None], ...]] = (
    _write_delete_acls_response_v1,
    _write_delete_acls_response_v2,
    _write_delete_acls_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DeleteAclsResponse:
    if not 1 <= version <= 3:
        raise unsupported_version("DeleteAclsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteAclsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DeleteAclsResponse, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("DeleteAclsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteAclsResponse holds a value out of range: {error}") from error


def encode_response(message: DeleteAclsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
