"""DescribeGroupsRequest and DescribeGroupsResponse.

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
    read_compact_strings,
    read_nullable_string,
    read_string,
    read_strings,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_bytes,
    write_compact_array_length,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_nullable_string,
    write_string,
    write_strings,
)

API_KEY: Final = 15
VERSIONS: Final = range(0, 7)
FLEXIBLE_FROM: Final = 5

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_o: Final = struct.Struct(">?")


class DescribeGroupsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    groups: list[str] = []
    include_authorized_operations: bool = False


class DescribedGroupMember(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


class DescribedGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: int = -2147483648


class DescribeGroupsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []


def _read_describe_groups_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeGroupsRequest, int]:
    count, pos = read_array_length(buf, pos, 2)
    budget.take(count)
    groups, pos = read_strings(buf, pos, count)
    return DescribeGroupsRequest(groups=groups), pos


def _write_describe_groups_request_v0(out: bytearray, message: DescribeGroupsRequest) -> None:
    if message.include_authorized_operations:
        raise unsupported_field("DescribeGroupsRequest.include_authorized_operations", 0, 2)
    groups = message.groups
    write_array_length(out, len(groups))
    write_strings(out, groups)


def _read_describe_groups_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeGroupsRequest, int]:
    count, pos = read_array_length(buf, pos, 2)
    budget.take(count)
    groups, pos = read_strings(buf, pos, count)
    include_authorized_operations = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    value = DescribeGroupsRequest(
        groups=groups,
        include_authorized_operations=include_authorized_operations,
    )
    return value, pos


def _write_describe_groups_request_v3(out: bytearray, message: DescribeGroupsRequest) -> None:
    groups = message.groups
    write_array_length(out, len(groups))
    write_strings(out, groups)
    out += _PACKED_o.pack(message.include_authorized_operations)


def _read_describe_groups_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeGroupsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    groups, pos = read_compact_strings(buf, pos, count)
    include_authorized_operations = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeGroupsRequest(
        groups=groups,
        include_authorized_operations=include_authorized_operations,
    )
    return value, pos


def _write_describe_groups_request_v5(out: bytearray, message: DescribeGroupsRequest) -> None:
    groups = message.groups
    write_compact_array_length(out, len(groups))
    write_compact_strings(out, groups)
    out += _PACKED_o.pack(message.include_authorized_operations)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeGroupsRequest, int]], ...]] = (
    _read_describe_groups_request_v0,
    _read_describe_groups_request_v0,
    _read_describe_groups_request_v0,
    _read_describe_groups_request_v3,
    _read_describe_groups_request_v3,
    _read_describe_groups_request_v5,
    _read_describe_groups_request_v5,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeGroupsRequest], None], ...]] = (
    _write_describe_groups_request_v0,
    _write_describe_groups_request_v0,
    _write_describe_groups_request_v0,
    _write_describe_groups_request_v3,
    _write_describe_groups_request_v3,
    _write_describe_groups_request_v5,
    _write_describe_groups_request_v5,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeGroupsRequest:
    if not 0 <= version <= 6:
        raise unsupported_version("DescribeGroupsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeGroupsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeGroupsRequest, version: int) -> None:
    if not 0 <= version <= 6:
        raise unsupported_version("DescribeGroupsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeGroupsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeGroupsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_described_group_member_v0(buf: Buffer, pos: int) -> tuple[DescribedGroupMember, int]:
    member_id, pos = read_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    member_metadata, pos = read_bytes(buf, pos)
    member_assignment, pos = read_bytes(buf, pos)
    value = DescribedGroupMember(
        member_id=member_id,
        client_id=client_id,
        client_host=client_host,
        member_metadata=member_metadata,
        member_assignment=member_assignment,
    )
    return value, pos


def _write_described_group_member_v0(out: bytearray, message: DescribedGroupMember) -> None:
    write_string(out, message.member_id)
    write_string(out, message.client_id)
    write_string(out, message.client_host)
    write_bytes(out, message.member_metadata)
    write_bytes(out, message.member_assignment)


def _read_described_group_member_v4(buf: Buffer, pos: int) -> tuple[DescribedGroupMember, int]:
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    member_metadata, pos = read_bytes(buf, pos)
    member_assignment, pos = read_bytes(buf, pos)
    value = DescribedGroupMember(
        member_id=member_id,
        group_instance_id=group_instance_id,
        client_id=client_id,
        client_host=client_host,
        member_metadata=member_metadata,
        member_assignment=member_assignment,
    )
    return value, pos


def _write_described_group_member_v4(out: bytearray, message: DescribedGroupMember) -> None:
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)
    write_string(out, message.client_id)
    write_string(out, message.client_host)
    write_bytes(out, message.member_metadata)
    write_bytes(out, message.member_assignment)


def _read_described_group_member_v5(buf: Buffer, pos: int) -> tuple[DescribedGroupMember, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    member_metadata, pos = read_compact_bytes(buf, pos)
    member_assignment, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedGroupMember(
        member_id=member_id,
        group_instance_id=group_instance_id,
        client_id=client_id,
        client_host=client_host,
        member_metadata=member_metadata,
        member_assignment=member_assignment,
    )
    return value, pos


def _write_described_group_member_v5(out: bytearray, message: DescribedGroupMember) -> None:
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    write_compact_string(out, message.client_id)
    write_compact_string(out, message.client_host)
    write_compact_bytes(out, message.member_metadata)
    write_compact_bytes(out, message.member_assignment)
    out.append(0)


def _read_described_group_v0(buf: Buffer, pos: int) -> tuple[DescribedGroup, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    group_id, pos = read_string(buf, pos)
    group_state, pos = read_string(buf, pos)
    protocol_type, pos = read_string(buf, pos)
    protocol_data, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    members: list[DescribedGroupMember] = []
    for _ in range(count):
        members_item, pos = _read_described_group_member_v0(buf, pos)
        members.append(members_item)
    value = DescribedGroup(
        error_code=error_code,
        group_id=group_id,
        group_state=group_state,
        protocol_type=protocol_type,
        protocol_data=protocol_data,
        members=members,
    )
    return value, pos


def _write_described_group_v0(out: bytearray, message: DescribedGroup) -> None:
    if message.error_message is not None:
        raise unsupported_field("DescribedGroup.error_message", 0, 2)
    if message.authorized_operations != -2147483648:
        raise unsupported_field("DescribedGroup.authorized_operations", 0, 2)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, message.group_id)
    write_string(out, message.group_state)
    write_string(out, message.protocol_type)
    write_string(out, message.protocol_data)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_described_group_member_v0(out, members_item)


def _read_described_group_v3(buf: Buffer, pos: int) -> tuple[DescribedGroup, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    group_id, pos = read_string(buf, pos)
    group_state, pos = read_string(buf, pos)
    protocol_type, pos = read_string(buf, pos)
    protocol_data, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    members: list[DescribedGroupMember] = []
    for _ in range(count):
        members_item, pos = _read_described_group_member_v0(buf, pos)
        members.append(members_item)
    authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = DescribedGroup(
        error_code=error_code,
        group_id=group_id,
        group_state=group_state,
        protocol_type=protocol_type,
        protocol_data=protocol_data,
        members=members,
        authorized_operations=authorized_operations,
    )
    return value, pos


def _write_described_group_v3(out: bytearray, message: DescribedGroup) -> None:
    if message.error_message is not None:
        raise unsupported_field("DescribedGroup.error_message", 3, 3)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, message.group_id)
    write_string(out, message.group_state)
    write_string(out, message.protocol_type)
    write_string(out, message.protocol_data)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_described_group_member_v0(out, members_item)
    out += _PACKED_i.pack(message.authorized_operations)


def _read_described_group_v4(buf: Buffer, pos: int) -> tuple[DescribedGroup, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    group_id, pos = read_string(buf, pos)
    group_state, pos = read_string(buf, pos)
    protocol_type, pos = read_string(buf, pos)
    protocol_data, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 16)
    members: list[DescribedGroupMember] = []
    for _ in range(count):
        members_item, pos = _read_described_group_member_v4(buf, pos)
        members.append(members_item)
    authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = DescribedGroup(
        error_code=error_code,
        group_id=group_id,
        group_state=group_state,
        protocol_type=protocol_type,
        protocol_data=protocol_data,
        members=members,
        authorized_operations=authorized_operations,
    )
    return value, pos


def _write_described_group_v4(out: bytearray, message: DescribedGroup) -> None:
    if message.error_message is not None:
        raise unsupported_field("DescribedGroup.error_message", 4, 4)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, message.group_id)
    write_string(out, message.group_state)
    write_string(out, message.protocol_type)
    write_string(out, message.protocol_data)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_described_group_member_v4(out, members_item)
    out += _PACKED_i.pack(message.authorized_operations)


def _read_described_group_v5(buf: Buffer, pos: int) -> tuple[DescribedGroup, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    group_id, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    protocol_data, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 7)
    members: list[DescribedGroupMember] = []
    for _ in range(count):
        members_item, pos = _read_described_group_member_v5(buf, pos)
        members.append(members_item)
    authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedGroup(
        error_code=error_code,
        group_id=group_id,
        group_state=group_state,
        protocol_type=protocol_type,
        protocol_data=protocol_data,
        members=members,
        authorized_operations=authorized_operations,
    )
    return value, pos


def _write_described_group_v5(out: bytearray, message: DescribedGroup) -> None:
    if message.error_message is not None:
        raise unsupported_field("DescribedGroup.error_message", 5, 5)
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.group_state)
    write_compact_string(out, message.protocol_type)
    write_compact_string(out, message.protocol_data)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_described_group_member_v5(out, members_item)
    out += _PACKED_i.pack(message.authorized_operations)
    out.append(0)


def _read_described_group_v6(buf: Buffer, pos: int) -> tuple[DescribedGroup, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    group_id, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    protocol_data, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 7)
    members: list[DescribedGroupMember] = []
    for _ in range(count):
        members_item, pos = _read_described_group_member_v5(buf, pos)
        members.append(members_item)
    authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedGroup(
        error_code=error_code,
        error_message=error_message,
        group_id=group_id,
        group_state=group_state,
        protocol_type=protocol_type,
        protocol_data=protocol_data,
        members=members,
        authorized_operations=authorized_operations,
    )
    return value, pos


def _write_described_group_v6(out: bytearray, message: DescribedGroup) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.group_state)
    write_compact_string(out, message.protocol_type)
    write_compact_string(out, message.protocol_data)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_described_group_member_v5(out, members_item)
    out += _PACKED_i.pack(message.authorized_operations)
    out.append(0)


def _read_describe_groups_response_v0(buf: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    count, pos = read_array_length(buf, pos, 14)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v0(buf, pos)
        groups.append(groups_item)
    return DescribeGroupsResponse(groups=groups), pos


def _write_describe_groups_response_v0(out: bytearray, message: DescribeGroupsResponse) -> None:
    groups = message.groups
    write_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v0(out, groups_item)


def _read_describe_groups_response_v1(buf: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 14)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v0(buf, pos)
        groups.append(groups_item)
    return DescribeGroupsResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_describe_groups_response_v1(out: bytearray, message: DescribeGroupsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v0(out, groups_item)


def _read_describe_groups_response_v3(buf: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 18)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v3(buf, pos)
        groups.append(groups_item)
    return DescribeGroupsResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_describe_groups_response_v3(out: bytearray, message: DescribeGroupsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v3(out, groups_item)


def _read_describe_groups_response_v4(buf: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 18)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v4(buf, pos)
        groups.append(groups_item)
    return DescribeGroupsResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_describe_groups_response_v4(out: bytearray, message: DescribeGroupsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v4(out, groups_item)


def _read_describe_groups_response_v5(buf: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 12)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v5(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeGroupsResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_describe_groups_response_v5(out: bytearray, message: DescribeGroupsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v5(out, groups_item)
    out.append(0)


def _read_describe_groups_response_v6(buf: Buffer, pos: int) -> tuple[DescribeGroupsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 13)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v6(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeGroupsResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_describe_groups_response_v6(out: bytearray, message: DescribeGroupsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v6(out, groups_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeGroupsResponse, int]], ...]] = (
    _read_describe_groups_response_v0,
    _read_describe_groups_response_v1,
    _read_describe_groups_response_v1,
    _read_describe_groups_response_v3,
    _read_describe_groups_response_v4,
    _read_describe_groups_response_v5,
    _read_describe_groups_response_v6,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeGroupsResponse], None], ...]] = (
    _write_describe_groups_response_v0,
    _write_describe_groups_response_v1,
    _write_describe_groups_response_v1,
    _write_describe_groups_response_v3,
    _write_describe_groups_response_v4,
    _write_describe_groups_response_v5,
    _write_describe_groups_response_v6,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeGroupsResponse:
    if not 0 <= version <= 6:
        raise unsupported_version("DescribeGroupsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeGroupsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeGroupsResponse, version: int) -> None:
    if not 0 <= version <= 6:
        raise unsupported_version("DescribeGroupsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeGroupsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeGroupsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
