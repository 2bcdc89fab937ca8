"""DescribeAclsRequest and DescribeAclsResponse.

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

API_KEY: Final = 29
VERSIONS: Final = range(1, 4)
FLEXIBLE_FROM: Final = 2

_PACKED_b: Final = struct.Struct(">b")
_PACKED_bb: Final = struct.Struct(">bb")
_PACKED_ih: Final = struct.Struct(">ih")


class DescribeAclsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_type_filter: int = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: int = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: int = 0
    permission_type: int = 0


class AclDescription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    principal: str = ""
    host: str = ""
    operation: int = 0
    permission_type: int = 0


class DescribeAclsResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    pattern_type: int = 3
    acls: list[AclDescription] = []


class DescribeAclsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    resources: list[DescribeAclsResource] = []


def _read_describe_acls_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeAclsRequest, int]:
    resource_type_filter = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name_filter, pos = read_nullable_string(buf, pos)
    pattern_type_filter = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    principal_filter, pos = read_nullable_string(buf, pos)
    host_filter, pos = read_nullable_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    value = DescribeAclsRequest(
        resource_type_filter=resource_type_filter,
        resource_name_filter=resource_name_filter,
        pattern_type_filter=pattern_type_filter,
        principal_filter=principal_filter,
        host_filter=host_filter,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_describe_acls_request_v1(out: bytearray, message: DescribeAclsRequest) -> None:
    out += _PACKED_b.pack(message.resource_type_filter)
    write_nullable_string(out, message.resource_name_filter)
    out += _PACKED_b.pack(message.pattern_type_filter)
    write_nullable_string(out, message.principal_filter)
    write_nullable_string(out, message.host_filter)
    out += _PACKED_bb.pack(message.operation, message.permission_type)


def _read_describe_acls_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeAclsRequest, int]:
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
    value = DescribeAclsRequest(
        resource_type_filter=resource_type_filter,
        resource_name_filter=resource_name_filter,
        pattern_type_filter=pattern_type_filter,
        principal_filter=principal_filter,
        host_filter=host_filter,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_describe_acls_request_v2(out: bytearray, message: DescribeAclsRequest) -> None:
    out += _PACKED_b.pack(message.resource_type_filter)
    write_compact_nullable_string(out, message.resource_name_filter)
    out += _PACKED_b.pack(message.pattern_type_filter)
    write_compact_nullable_string(out, message.principal_filter)
    write_compact_nullable_string(out, message.host_filter)
    out += _PACKED_bb.pack(message.operation, message.permission_type)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeAclsRequest, int]], ...]] = (
    _read_describe_acls_request_v1,
    _read_describe_acls_request_v2,
    _read_describe_acls_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeAclsRequest], None], ...]] = (
    _write_describe_acls_request_v1,
    _write_describe_acls_request_v2,
    _write_describe_acls_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeAclsRequest:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeAclsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeAclsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeAclsRequest, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeAclsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeAclsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeAclsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_acl_description_v1(buf: Buffer, pos: int) -> tuple[AclDescription, int]:
    principal, pos = read_string(buf, pos)
    host, pos = read_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    value = AclDescription(
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_acl_description_v1(out: bytearray, message: AclDescription) -> None:
    write_string(out, message.principal)
    write_string(out, message.host)
    out += _PACKED_bb.pack(message.operation, message.permission_type)


def _read_acl_description_v2(buf: Buffer, pos: int) -> tuple[AclDescription, int]:
    principal, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    operation, permission_type = _PACKED_bb.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AclDescription(
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission_type,
    )
    return value, pos


def _write_acl_description_v2(out: bytearray, message: AclDescription) -> None:
    write_compact_string(out, message.principal)
    write_compact_string(out, message.host)
    out += _PACKED_bb.pack(message.operation, message.permission_type)
    out.append(0)


def _read_describe_acls_resource_v1(buf: Buffer, pos: int) -> tuple[DescribeAclsResource, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    pattern_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_array_length(buf, pos, 6)
    acls: list[AclDescription] = []
    for _ in range(count):
        acls_item, pos = _read_acl_description_v1(buf, pos)
        acls.append(acls_item)
    value = DescribeAclsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        pattern_type=pattern_type,
        acls=acls,
    )
    return value, pos


def _write_describe_acls_resource_v1(out: bytearray, message: DescribeAclsResource) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)
    out += _PACKED_b.pack(message.pattern_type)
    acls = message.acls
    write_array_length(out, len(acls))
    for acls_item in acls:
        _write_acl_description_v1(out, acls_item)


def _read_describe_acls_resource_v2(buf: Buffer, pos: int) -> tuple[DescribeAclsResource, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    pattern_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_compact_array_length(buf, pos, 5)
    acls: list[AclDescription] = []
    for _ in range(count):
        acls_item, pos = _read_acl_description_v2(buf, pos)
        acls.append(acls_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeAclsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        pattern_type=pattern_type,
        acls=acls,
    )
    return value, pos


def _write_describe_acls_resource_v2(out: bytearray, message: DescribeAclsResource) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    out += _PACKED_b.pack(message.pattern_type)
    acls = message.acls
    write_compact_array_length(out, len(acls))
    for acls_item in acls:
        _write_acl_description_v2(out, acls_item)
    out.append(0)


def _read_describe_acls_response_v1(buf: Buffer, pos: int) -> tuple[DescribeAclsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 8)
    resources: list[DescribeAclsResource] = []
    for _ in range(count):
        resources_item, pos = _read_describe_acls_resource_v1(buf, pos)
        resources.append(resources_item)
    value = DescribeAclsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        resources=resources,
    )
    return value, pos


def _write_describe_acls_response_v1(out: bytearray, message: DescribeAclsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_nullable_string(out, message.error_message)
    resources = message.resources
    write_array_length(out, len(resources))
    for resources_item in resources:
        _write_describe_acls_resource_v1(out, resources_item)


def _read_describe_acls_response_v2(buf: Buffer, pos: int) -> tuple[DescribeAclsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 5)
    resources: list[DescribeAclsResource] = []
    for _ in range(count):
        resources_item, pos = _read_describe_acls_resource_v2(buf, pos)
        resources.append(resources_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeAclsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        resources=resources,
    )
    return value, pos


def _write_describe_acls_response_v2(out: bytearray, message: DescribeAclsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    resources = message.resources
    write_compact_array_length(out, len(resources))
    for resources_item in resources:
        _write_describe_acls_resource_v2(out, resources_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeAclsResponse, int]], ...]] = (
    _read_describe_acls_response_v1,
    _read_describe_acls_response_v2,
    _read_describe_acls_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeAclsResponse], None], ...]] = (
    _write_describe_acls_response_v1,
    _write_describe_acls_response_v2,
    _write_describe_acls_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeAclsResponse:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeAclsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeAclsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeAclsResponse, version: int) -> None:
    if not 1 <= version <= 3:
        raise unsupported_version("DescribeAclsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeAclsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeAclsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
