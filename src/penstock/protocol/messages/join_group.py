"""JoinGroupRequest and JoinGroupResponse.

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
    required,
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

API_KEY: Final = 11
VERSIONS: Final = range(0, 10)
FLEXIBLE_FROM: Final = 6

_PACKED_hi: Final = struct.Struct(">hi")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ihi: Final = struct.Struct(">ihi")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_o: Final = struct.Struct(">?")


class JoinGroupRequestProtocol(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    metadata: bytes = b""


class JoinGroupRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: str | None = None


class JoinGroupResponseMember(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    metadata: bytes = b""


class JoinGroupResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = []


def _read_join_group_request_protocol_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[JoinGroupRequestProtocol, int]:
    name, pos = read_string(buf, pos)
    metadata, pos = read_bytes(buf, pos)
    return JoinGroupRequestProtocol(name=name, metadata=metadata), pos


def _write_join_group_request_protocol_v0(out: bytearray, message: JoinGroupRequestProtocol) -> None:
    write_string(out, message.name)
    write_bytes(out, message.metadata)


def _read_join_group_request_protocol_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[JoinGroupRequestProtocol, int]:
    name, pos = read_compact_string(buf, pos)
    metadata, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return JoinGroupRequestProtocol(name=name, metadata=metadata), pos


def _write_join_group_request_protocol_v6(out: bytearray, message: JoinGroupRequestProtocol) -> None:
    write_compact_string(out, message.name)
    write_compact_bytes(out, message.metadata)
    out.append(0)


def _read_join_group_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    group_id, pos = read_string(buf, pos)
    session_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    protocol_type, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        protocols_item, pos = _read_join_group_request_protocol_v0(buf, pos, budget)
        protocols.append(protocols_item)
    value = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        member_id=member_id,
        protocol_type=protocol_type,
        protocols=protocols,
    )
    return value, pos


def _write_join_group_request_v0(out: bytearray, message: JoinGroupRequest) -> None:
    if message.group_instance_id is not None:
        raise unsupported_field("JoinGroupRequest.group_instance_id", 0, 0)
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.session_timeout_ms)
    write_string(out, message.member_id)
    write_string(out, message.protocol_type)
    protocols = message.protocols
    write_array_length(out, len(protocols))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v0(out, protocols_item)


def _read_join_group_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    group_id, pos = read_string(buf, pos)
    session_timeout_ms, rebalance_timeout_ms = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    member_id, pos = read_string(buf, pos)
    protocol_type, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        protocols_item, pos = _read_join_group_request_protocol_v0(buf, pos, budget)
        protocols.append(protocols_item)
    value = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=member_id,
        protocol_type=protocol_type,
        protocols=protocols,
    )
    return value, pos


def _write_join_group_request_v1(out: bytearray, message: JoinGroupRequest) -> None:
    if message.group_instance_id is not None:
        raise unsupported_field("JoinGroupRequest.group_instance_id", 1, 4)
    write_string(out, message.group_id)
    out += _PACKED_ii.pack(message.session_timeout_ms, message.rebalance_timeout_ms)
    write_string(out, message.member_id)
    write_string(out, message.protocol_type)
    protocols = message.protocols
    write_array_length(out, len(protocols))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v0(out, protocols_item)


def _read_join_group_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    group_id, pos = read_string(buf, pos)
    session_timeout_ms, rebalance_timeout_ms = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    protocol_type, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        protocols_item, pos = _read_join_group_request_protocol_v0(buf, pos, budget)
        protocols.append(protocols_item)
    value = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=member_id,
        group_instance_id=group_instance_id,
        protocol_type=protocol_type,
        protocols=protocols,
    )
    return value, pos


def _write_join_group_request_v5(out: bytearray, message: JoinGroupRequest) -> None:
    write_string(out, message.group_id)
    out += _PACKED_ii.pack(message.session_timeout_ms, message.rebalance_timeout_ms)
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)
    write_string(out, message.protocol_type)
    protocols = message.protocols
    write_array_length(out, len(protocols))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v0(out, protocols_item)


def _read_join_group_request_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    session_timeout_ms, rebalance_timeout_ms = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        protocols_item, pos = _read_join_group_request_protocol_v6(buf, pos, budget)
        protocols.append(protocols_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=member_id,
        group_instance_id=group_instance_id,
        protocol_type=protocol_type,
        protocols=protocols,
    )
    return value, pos


def _write_join_group_request_v6(out: bytearray, message: JoinGroupRequest) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_ii.pack(message.session_timeout_ms, message.rebalance_timeout_ms)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    write_compact_string(out, message.protocol_type)
    protocols = message.protocols
    write_compact_array_length(out, len(protocols))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v6(out, protocols_item)
    out.append(0)


def _read_join_group_request_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[JoinGroupRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    session_timeout_ms, rebalance_timeout_ms = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    protocols: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        protocols_item, pos = _read_join_group_request_protocol_v6(buf, pos, budget)
        protocols.append(protocols_item)
    reason, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=member_id,
        group_instance_id=group_instance_id,
        protocol_type=protocol_type,
        protocols=protocols,
        reason=reason,
    )
    return value, pos


def _write_join_group_request_v8(out: bytearray, message: JoinGroupRequest) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_ii.pack(message.session_timeout_ms, message.rebalance_timeout_ms)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    write_compact_string(out, message.protocol_type)
    protocols = message.protocols
    write_compact_array_length(out, len(protocols))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v6(out, protocols_item)
    write_compact_nullable_string(out, message.reason)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[JoinGroupRequest, int]], ...]] = (
    _read_join_group_request_v0,
    _read_join_group_request_v1,
    _read_join_group_request_v1,
    _read_join_group_request_v1,
    _read_join_group_request_v1,
    _read_join_group_request_v5,
    _read_join_group_request_v6,
    _read_join_group_request_v6,
    _read_join_group_request_v8,
    _read_join_group_request_v8,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, JoinGroupRequest], None], ...]] = (
    _write_join_group_request_v0,
    _write_join_group_request_v1,
    _write_join_group_request_v1,
    _write_join_group_request_v1,
    _write_join_group_request_v1,
    _write_join_group_request_v5,
    _write_join_group_request_v6,
    _write_join_group_request_v6,
    _write_join_group_request_v8,
    _write_join_group_request_v8,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> JoinGroupRequest:
    if not 0 <= version <= 9:
        raise unsupported_version("JoinGroupRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("JoinGroupRequest is cut short") from error


def encode_request_into(out: bytearray, message: JoinGroupRequest, version: int) -> None:
    if not 0 <= version <= 9:
        raise unsupported_version("JoinGroupRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"JoinGroupRequest holds a value out of range: {error}") from error


def encode_request(message: JoinGroupRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_join_group_response_member_v0(buf: Buffer, pos: int) -> tuple[JoinGroupResponseMember, int]:
    member_id, pos = read_string(buf, pos)
    metadata, pos = read_bytes(buf, pos)
    return JoinGroupResponseMember(member_id=member_id, metadata=metadata), pos


def _write_join_group_response_member_v0(out: bytearray, message: JoinGroupResponseMember) -> None:
    write_string(out, message.member_id)
    write_bytes(out, message.metadata)


def _read_join_group_response_member_v5(buf: Buffer, pos: int) -> tuple[JoinGroupResponseMember, int]:
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    metadata, pos = read_bytes(buf, pos)
    value = JoinGroupResponseMember(
        member_id=member_id,
        group_instance_id=group_instance_id,
        metadata=metadata,
    )
    return value, pos


def _write_join_group_response_member_v5(out: bytearray, message: JoinGroupResponseMember) -> None:
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)
    write_bytes(out, message.metadata)


def _read_join_group_response_member_v6(buf: Buffer, pos: int) -> tuple[JoinGroupResponseMember, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    metadata, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = JoinGroupResponseMember(
        member_id=member_id,
        group_instance_id=group_instance_id,
        metadata=metadata,
    )
    return value, pos


def _write_join_group_response_member_v6(out: bytearray, message: JoinGroupResponseMember) -> None:
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    write_compact_bytes(out, message.metadata)
    out.append(0)


def _read_join_group_response_v0(buf: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    error_code, generation_id = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    protocol_name, pos = read_string(buf, pos)
    leader, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    members: list[JoinGroupResponseMember] = []
    for _ in range(count):
        members_item, pos = _read_join_group_response_member_v0(buf, pos)
        members.append(members_item)
    value = JoinGroupResponse(
        error_code=error_code,
        generation_id=generation_id,
        protocol_name=protocol_name,
        leader=leader,
        member_id=member_id,
        members=members,
    )
    return value, pos


def _write_join_group_response_v0(out: bytearray, message: JoinGroupResponse) -> None:
    if message.skip_assignment:
        raise unsupported_field("JoinGroupResponse.skip_assignment", 0, 1)
    out += _PACKED_hi.pack(message.error_code, message.generation_id)
    write_string(out, required(message.protocol_name, "JoinGroupResponse.protocol_name"))
    write_string(out, message.leader)
    write_string(out, message.member_id)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_join_group_response_member_v0(out, members_item)


def _read_join_group_response_v2(buf: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    protocol_name, pos = read_string(buf, pos)
    leader, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    members: list[JoinGroupResponseMember] = []
    for _ in range(count):
        members_item, pos = _read_join_group_response_member_v0(buf, pos)
        members.append(members_item)
    value = JoinGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        generation_id=generation_id,
        protocol_name=protocol_name,
        leader=leader,
        member_id=member_id,
        members=members,
    )
    return value, pos


def _write_join_group_response_v2(out: bytearray, message: JoinGroupResponse) -> None:
    if message.skip_assignment:
        raise unsupported_field("JoinGroupResponse.skip_assignment", 2, 4)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.generation_id)
    write_string(out, required(message.protocol_name, "JoinGroupResponse.protocol_name"))
    write_string(out, message.leader)
    write_string(out, message.member_id)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_join_group_response_member_v0(out, members_item)


def _read_join_group_response_v5(buf: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    protocol_name, pos = read_string(buf, pos)
    leader, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 8)
    members: list[JoinGroupResponseMember] = []
    for _ in range(count):
        members_item, pos = _read_join_group_response_member_v5(buf, pos)
        members.append(members_item)
    value = JoinGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        generation_id=generation_id,
        protocol_name=protocol_name,
        leader=leader,
        member_id=member_id,
        members=members,
    )
    return value, pos


def _write_join_group_response_v5(out: bytearray, message: JoinGroupResponse) -> None:
    if message.skip_assignment:
        raise unsupported_field("JoinGroupResponse.skip_assignment", 5, 5)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.generation_id)
    write_string(out, required(message.protocol_name, "JoinGroupResponse.protocol_name"))
    write_string(out, message.leader)
    write_string(out, message.member_id)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_join_group_response_member_v5(out, members_item)


def _read_join_group_response_v6(buf: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    protocol_name, pos = read_compact_string(buf, pos)
    leader, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    members: list[JoinGroupResponseMember] = []
    for _ in range(count):
        members_item, pos = _read_join_group_response_member_v6(buf, pos)
        members.append(members_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = JoinGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        generation_id=generation_id,
        protocol_name=protocol_name,
        leader=leader,
        member_id=member_id,
        members=members,
    )
    return value, pos


def _write_join_group_response_v6(out: bytearray, message: JoinGroupResponse) -> None:
    if message.skip_assignment:
        raise unsupported_field("JoinGroupResponse.skip_assignment", 6, 6)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.generation_id)
    write_compact_string(out, required(message.protocol_name, "JoinGroupResponse.protocol_name"))
    write_compact_string(out, message.leader)
    write_compact_string(out, message.member_id)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_join_group_response_member_v6(out, members_item)
    out.append(0)


def _read_join_group_response_v7(buf: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    protocol_type, pos = read_compact_nullable_string(buf, pos)
    protocol_name, pos = read_compact_nullable_string(buf, pos)
    leader, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    members: list[JoinGroupResponseMember] = []
    for _ in range(count):
        members_item, pos = _read_join_group_response_member_v6(buf, pos)
        members.append(members_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = JoinGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        generation_id=generation_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        leader=leader,
        member_id=member_id,
        members=members,
    )
    return value, pos


def _write_join_group_response_v7(out: bytearray, message: JoinGroupResponse) -> None:
    if message.skip_assignment:
        raise unsupported_field("JoinGroupResponse.skip_assignment", 7, 8)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.generation_id)
    write_compact_nullable_string(out, message.protocol_type)
    write_compact_nullable_string(out, message.protocol_name)
    write_compact_string(out, message.leader)
    write_compact_string(out, message.member_id)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_join_group_response_member_v6(out, members_item)
    out.append(0)


def _read_join_group_response_v9(buf: Buffer, pos: int) -> tuple[JoinGroupResponse, int]:
    throttle_time_ms, error_code, generation_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    protocol_type, pos = read_compact_nullable_string(buf, pos)
    protocol_name, pos = read_compact_nullable_string(buf, pos)
    leader, pos = read_compact_string(buf, pos)
    skip_assignment = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    member_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    members: list[JoinGroupResponseMember] = []
    for _ in range(count):
        members_item, pos = _read_join_group_response_member_v6(buf, pos)
        members.append(members_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = JoinGroupResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        generation_id=generation_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        leader=leader,
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )
    return value, pos


def _write_join_group_response_v9(out: bytearray, message: JoinGroupResponse) -> None:
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.generation_id)
    write_compact_nullable_string(out, message.protocol_type)
    write_compact_nullable_string(out, message.protocol_name)
    write_compact_string(out, message.leader)
    out += _PACKED_o.pack(message.skip_assignment)
    write_compact_string(out, message.member_id)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_join_group_response_member_v6(out, members_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[JoinGroupResponse, int]], ...]] = (
    _read_join_group_response_v0,
    _read_join_group_response_v0,
    _read_join_group_response_v2,
    _read_join_group_response_v2,
    _read_join_group_response_v2,
    _read_join_group_response_v5,
    _read_join_group_response_v6,
    _read_join_group_response_v7,
    _read_join_group_response_v7,
    _read_join_group_response_v9,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, JoinGroupResponse], None], ...]] = (
    _write_join_group_response_v0,
    _write_join_group_response_v0,
    _write_join_group_response_v2,
    _write_join_group_response_v2,
    _write_join_group_response_v2,
    _write_join_group_response_v5,
    _write_join_group_response_v6,
    _write_join_group_response_v7,
    _write_join_group_response_v7,
    _write_join_group_response_v9,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> JoinGroupResponse:
    if not 0 <= version <= 9:
        raise unsupported_version("JoinGroupResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("JoinGroupResponse is cut short") from error


def encode_response_into(out: bytearray, message: JoinGroupResponse, version: int) -> None:
    if not 0 <= version <= 9:
        raise unsupported_version("JoinGroupResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"JoinGroupResponse holds a value out of range: {error}") from error


def encode_response(message: JoinGroupResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
