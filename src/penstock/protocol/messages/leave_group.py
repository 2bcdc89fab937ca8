"""LeaveGroupRequest and LeaveGroupResponse.

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
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 13
VERSIONS: Final = range(0, 6)
FLEXIBLE_FROM: Final = 4

_PACKED_h: Final = struct.Struct(">h")
_PACKED_ih: Final = struct.Struct(">ih")


class MemberIdentity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    reason: str | None = None


class LeaveGroupRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""
    members: list[MemberIdentity] = []


class MemberResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: int = 0


class LeaveGroupResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    members: list[MemberResponse] = []


def _read_member_identity_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[MemberIdentity, int]:
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    return MemberIdentity(member_id=member_id, group_instance_id=group_instance_id), pos


def _write_member_identity_v3(out: bytearray, message: MemberIdentity) -> None:
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)


def _read_member_identity_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[MemberIdentity, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return MemberIdentity(member_id=member_id, group_instance_id=group_instance_id), pos


def _write_member_identity_v4(out: bytearray, message: MemberIdentity) -> None:
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    out.append(0)


def _read_member_identity_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[MemberIdentity, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    reason, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return MemberIdentity(member_id=member_id, group_instance_id=group_instance_id, reason=reason), pos


def _write_member_identity_v5(out: bytearray, message: MemberIdentity) -> None:
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    write_compact_nullable_string(out, message.reason)
    out.append(0)


def _read_leave_group_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[LeaveGroupRequest, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return LeaveGroupRequest(group_id=group_id, member_id=member_id), pos


def _write_leave_group_request_v0(out: bytearray, message: LeaveGroupRequest) -> None:
    if message.members != []:
        raise unsupported_field("LeaveGroupRequest.members", 0, 2)
    write_string(out, message.group_id)
    write_string(out, message.member_id)


def _read_leave_group_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[LeaveGroupRequest, int]:
    group_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    members: list[MemberIdentity] = []
    for _ in range(count):
        members_item, pos = _read_member_identity_v3(buf, pos, budget)
        members.append(members_item)
    return LeaveGroupRequest(group_id=group_id, members=members), pos


def _write_leave_group_request_v3(out: bytearray, message: LeaveGroupRequest) -> None:
    if message.member_id != "":
        raise unsupported_field("LeaveGroupRequest.member_id", 3, 3)
    write_string(out, message.group_id)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_member_identity_v3(out, members_item)


def _read_leave_group_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[LeaveGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    members: list[MemberIdentity] = []
    for _ in range(count):
        members_item, pos = _read_member_identity_v4(buf, pos, budget)
        members.append(members_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return LeaveGroupRequest(group_id=group_id, members=members), pos


def _write_leave_group_request_v4(out: bytearray, message: LeaveGroupRequest) -> None:
    if message.member_id != "":
        raise unsupported_field("LeaveGroupRequest.member_id", 4, 4)
    write_compact_string(out, message.group_id)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_member_identity_v4(out, members_item)
    out.append(0)


def _read_leave_group_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[LeaveGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    members: list[MemberIdentity] = []
    for _ in range(count):
        members_item, pos = _read_member_identity_v5(buf, pos, budget)
        members.append(members_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return LeaveGroupRequest(group_id=group_id, members=members), pos


def _write_leave_group_request_v5(out: bytearray, message: LeaveGroupRequest) -> None:
    if message.member_id != "":
        raise unsupported_field("LeaveGroupRequest.member_id", 5, 5)
    write_compact_string(out, message.group_id)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_member_identity_v5(out, members_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[LeaveGroupRequest, int]], ...]] = (
    _read_leave_group_request_v0,
    _read_leave_group_request_v0,
    _read_leave_group_request_v0,
    _read_leave_group_request_v3,
    _read_leave_group_request_v4,
    _read_leave_group_request_v5,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, LeaveGroupRequest], None], ...]] = (
    _write_leave_group_request_v0,
    _write_leave_group_request_v0,
    _write_leave_group_request_v0,
    _write_leave_group_request_v3,
    _write_leave_group_request_v4,
    _write_leave_group_request_v5,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> LeaveGroupRequest:
    if not 0 <= version <= 5:
        raise unsupported_version("LeaveGroupRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("LeaveGroupRequest is cut short") from error


def encode_request_into(out: bytearray, message: LeaveGroupRequest, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("LeaveGroupRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"LeaveGroupRequest holds a value out of range: {error}") from error


def encode_request(message: LeaveGroupRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_member_response_v3(buf: Buffer, pos: int) -> tuple[MemberResponse, int]:
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    value = MemberResponse(
        member_id=member_id,
        group_instance_id=group_instance_id,
        error_code=error_code,
    )
    return value, pos


def _write_member_response_v3(out: bytearray, message: MemberResponse) -> None:
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)
    out += _PACKED_h.pack(message.error_code)


def _read_member_response_v4(buf: Buffer, pos: int) -> tuple[MemberResponse, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MemberResponse(
        member_id=member_id,
        group_instance_id=group_instance_id,
        error_code=error_code,
    )
    return value, pos


def _write_member_response_v4(out: bytearray, message: MemberResponse) -> None:
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_leave_group_response_v0(buf: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    return LeaveGroupResponse(error_code=error_code), pos


def _write_leave_group_response_v0(out: bytearray, message: LeaveGroupResponse) -> None:
    if message.members != []:
        raise unsupported_field("LeaveGroupResponse.members", 0, 0)
    out += _PACKED_h.pack(message.error_code)


def _read_leave_group_response_v1(buf: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    return LeaveGroupResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_leave_group_response_v1(out: bytearray, message: LeaveGroupResponse) -> None:
    if message.members != []:
        raise unsupported_field("LeaveGroupResponse.members", 1, 2)
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)


def _read_leave_group_response_v3(buf: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_array_length(buf, pos, 6)
    members: list[MemberResponse] = []
    for _ in range(count):
        members_item, pos = _read_member_response_v3(buf, pos)
        members.append(members_item)
    value = LeaveGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        members=members,
    )
    return value, pos


def _write_leave_group_response_v3(out: bytearray, message: LeaveGroupResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_member_response_v3(out, members_item)


def _read_leave_group_response_v4(buf: Buffer, pos: int) -> tuple[LeaveGroupResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 5)
    members: list[MemberResponse] = []
    for _ in range(count):
        members_item, pos = _read_member_response_v4(buf, pos)
        members.append(members_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = LeaveGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        members=members,
    )
    return value, pos


def _write_leave_group_response_v4(out: bytearray, message: LeaveGroupResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_member_response_v4(out, members_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[LeaveGroupResponse, int]], ...]] = (
    _read_leave_group_response_v0,
    _read_leave_group_response_v1,
    _read_leave_group_response_v1,
    _read_leave_group_response_v3,
    _read_leave_group_response_v4,
    _read_leave_group_response_v4,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, LeaveGroupResponse], None], ...]] = (
    _write_leave_group_response_v0,
    _write_leave_group_response_v1,
    _write_leave_group_response_v1,
    _write_leave_group_response_v3,
    _write_leave_group_response_v4,
    _write_leave_group_response_v4,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> LeaveGroupResponse:
    if not 0 <= version <= 5:
        raise unsupported_version("LeaveGroupResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("LeaveGroupResponse is cut short") from error


def encode_response_into(out: bytearray, message: LeaveGroupResponse, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("LeaveGroupResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"LeaveGroupResponse holds a value out of range: {error}") from error


def encode_response(message: LeaveGroupResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
