"""SyncGroupRequest and SyncGroupResponse.

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
    read_nullable_string,
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
    write_nullable_string,
    write_string,
)

API_KEY: Final = 14
VERSIONS: Final = range(0, 6)
FLEXIBLE_FROM: Final = 4

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class SyncGroupRequestAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    assignment: bytes = b""


class SyncGroupRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: list[SyncGroupRequestAssignment] = []


class SyncGroupResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


def _read_sync_group_request_assignment_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[SyncGroupRequestAssignment, int]:
    member_id, pos = read_string(buf, pos)
    assignment, pos = read_bytes(buf, pos)
    return SyncGroupRequestAssignment(member_id=member_id, assignment=assignment), pos


def _write_sync_group_request_assignment_v0(out: bytearray, message: SyncGroupRequestAssignment) -> None:
    write_string(out, message.member_id)
    write_bytes(out, message.assignment)


def _read_sync_group_request_assignment_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[SyncGroupRequestAssignment, int]:
    member_id, pos = read_compact_string(buf, pos)
    assignment, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return SyncGroupRequestAssignment(member_id=member_id, assignment=assignment), pos


def _write_sync_group_request_assignment_v4(out: bytearray, message: SyncGroupRequestAssignment) -> None:
    write_compact_string(out, message.member_id)
    write_compact_bytes(out, message.assignment)
    out.append(0)


def _read_sync_group_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        assignments_item, pos = _read_sync_group_request_assignment_v0(buf, pos, budget)
        assignments.append(assignments_item)
    value = SyncGroupRequest(
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        assignments=assignments,
    )
    return value, pos


def _write_sync_group_request_v0(out: bytearray, message: SyncGroupRequest) -> None:
    if message.group_instance_id is not None:
        raise unsupported_field("SyncGroupRequest.group_instance_id", 0, 2)
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id)
    write_string(out, message.member_id)
    assignments = message.assignments
    write_array_length(out, len(assignments))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v0(out, assignments_item)


def _read_sync_group_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        assignments_item, pos = _read_sync_group_request_assignment_v0(buf, pos, budget)
        assignments.append(assignments_item)
    value = SyncGroupRequest(
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
        assignments=assignments,
    )
    return value, pos


def _write_sync_group_request_v3(out: bytearray, message: SyncGroupRequest) -> None:
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id)
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)
    assignments = message.assignments
    write_array_length(out, len(assignments))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v0(out, assignments_item)


def _read_sync_group_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        assignments_item, pos = _read_sync_group_request_assignment_v4(buf, pos, budget)
        assignments.append(assignments_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = SyncGroupRequest(
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
        assignments=assignments,
    )
    return value, pos


def _write_sync_group_request_v4(out: bytearray, message: SyncGroupRequest) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    assignments = message.assignments
    write_compact_array_length(out, len(assignments))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v4(out, assignments_item)
    out.append(0)


def _read_sync_group_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[SyncGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    protocol_type, pos = read_compact_nullable_string(buf, pos)
    protocol_name, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    assignments: list[SyncGroupRequestAssignment] = []
    for _ in range(count):
        assignments_item, pos = _read_sync_group_request_assignment_v4(buf, pos, budget)
        assignments.append(assignments_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = SyncGroupRequest(
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        assignments=assignments,
    )
    return value, pos


def _write_sync_group_request_v5(out: bytearray, message: SyncGroupRequest) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    write_compact_nullable_string(out, message.protocol_type)
    write_compact_nullable_string(out, message.protocol_name)
    assignments = message.assignments
    write_compact_array_length(out, len(assignments))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v4(out, assignments_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[SyncGroupRequest, int]], ...]] = (
    _read_sync_group_request_v0,
    _read_sync_group_request_v0,
    _read_sync_group_request_v0,
    _read_sync_group_request_v3,
    _read_sync_group_request_v4,
    _read_sync_group_request_v5,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, SyncGroupRequest], None], ...]] = (
    _write_sync_group_request_v0,
    _write_sync_group_request_v0,
    _write_sync_group_request_v0,
    _write_sync_group_request_v3,
    _write_sync_group_request_v4,
    _write_sync_group_request_v5,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> SyncGroupRequest:
    if not 0 <= version <= 5:
        raise unsupported_version("SyncGroupRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SyncGroupRequest is cut short") from error


def encode_request_into(out: bytearray, message: SyncGroupRequest, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("SyncGroupRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SyncGroupRequest holds a value out of range: {error}") from error


def encode_request(message: SyncGroupRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_sync_group_response_v0(buf: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    assignment, pos = read_bytes(buf, pos)
    return SyncGroupResponse(error_code=error_code, assignment=assignment), pos


def _write_sync_group_response_v0(out: bytearray, message: SyncGroupResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_bytes(out, message.assignment)


def _read_sync_group_response_v1(buf: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    assignment, pos = read_bytes(buf, pos)
    value = SyncGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        assignment=assignment,
    )
    return value, pos


def _write_sync_group_response_v1(out: bytearray, message: SyncGroupResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_bytes(out, message.assignment)


def _read_sync_group_response_v4(buf: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    assignment, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = SyncGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        assignment=assignment,
    )
    return value, pos


def _write_sync_group_response_v4(out: bytearray, message: SyncGroupResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_bytes(out, message.assignment)
    out.append(0)


def _read_sync_group_response_v5(buf: Buffer, pos: int) -> tuple[SyncGroupResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    protocol_type, pos = read_compact_nullable_string(buf, pos)
    protocol_name, pos = read_compact_nullable_string(buf, pos)
    assignment, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = SyncGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        assignment=assignment,
    )
    return value, pos


def _write_sync_group_response_v5(out: bytearray, message: SyncGroupResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.protocol_type)
    write_compact_nullable_string(out, message.protocol_name)
    write_compact_bytes(out, message.assignment)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[SyncGroupResponse, int]], ...]] = (
    _read_sync_group_response_v0,
    _read_sync_group_response_v1,
    _read_sync_group_response_v1,
    _read_sync_group_response_v1,
    _read_sync_group_response_v4,
    _read_sync_group_response_v5,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, SyncGroupResponse], None], ...]] = (
    _write_sync_group_response_v0,
    _write_sync_group_response_v1,
    _write_sync_group_response_v1,
    _write_sync_group_response_v1,
    _write_sync_group_response_v4,
    _write_sync_group_response_v5,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> SyncGroupResponse:
    if not 0 <= version <= 5:
        raise unsupported_version("SyncGroupResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SyncGroupResponse is cut short") from error


def encode_response_into(out: bytearray, message: SyncGroupResponse, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("SyncGroupResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SyncGroupResponse holds a value out of range: {error}") from error


def encode_response(message: SyncGroupResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
