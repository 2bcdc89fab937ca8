"""GroupMetadataKey and GroupMetadataValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
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

RECORD_TYPE: Final = 2
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 5)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_q: Final = struct.Struct(">q")


class GroupMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group: str = ""


class MemberMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: int = -1
    session_timeout: int = 0
    subscription: bytes = b""
    assignment: bytes = b""


class GroupMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    protocol_type: str = ""
    generation: int = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: int = -1
    members: list[MemberMetadata] = []


def _read_group_metadata_key_v0(buf: Buffer, pos: int) -> tuple[GroupMetadataKey, int]:
    group, pos = read_string(buf, pos)
    return GroupMetadataKey(group=group), pos


def _write_group_metadata_key_v0(out: bytearray, message: GroupMetadataKey) -> None:
    write_string(out, message.group)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[GroupMetadataKey, int]], ...]] = (
    _read_group_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, GroupMetadataKey], None], ...]] = (
    _write_group_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> GroupMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("GroupMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("GroupMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: GroupMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("GroupMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"GroupMetadataKey holds a value out of range: {error}") from error


def encode_key(message: GroupMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_member_metadata_v0(buf: Buffer, pos: int) -> tuple[MemberMetadata, int]:
    member_id, pos = read_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    session_timeout = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    subscription, pos = read_bytes(buf, pos)
    assignment, pos = read_bytes(buf, pos)
    value = MemberMetadata(
        member_id=member_id,
        client_id=client_id,
        client_host=client_host,
        session_timeout=session_timeout,
        subscription=subscription,
        assignment=assignment,
    )
    return value, pos


def _write_member_metadata_v0(out: bytearray, message: MemberMetadata) -> None:
    write_string(out, message.member_id)
    write_string(out, message.client_id)
    write_string(out, message.client_host)
    out += _PACKED_i.pack(message.session_timeout)
    write_bytes(out, message.subscription)
    write_bytes(out, message.assignment)


def _read_member_metadata_v1(buf: Buffer, pos: int) -> tuple[MemberMetadata, int]:
    member_id, pos = read_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    rebalance_timeout, session_timeout = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    subscription, pos = read_bytes(buf, pos)
    assignment, pos = read_bytes(buf, pos)
    value = MemberMetadata(
        member_id=member_id,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout=rebalance_timeout,
        session_timeout=session_timeout,
        subscription=subscription,
        assignment=assignment,
    )
    return value, pos


def _write_member_metadata_v1(out: bytearray, message: MemberMetadata) -> None:
    write_string(out, message.member_id)
    write_string(out, message.client_id)
    write_string(out, message.client_host)
    out += _PACKED_ii.pack(message.rebalance_timeout, message.session_timeout)
    write_bytes(out, message.subscription)
    write_bytes(out, message.assignment)


def _read_member_metadata_v3(buf: Buffer, pos: int) -> tuple[MemberMetadata, int]:
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    client_id, pos = read_string(buf, pos)
    client_host, pos = read_string(buf, pos)
    rebalance_timeout, session_timeout = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    subscription, pos = read_bytes(buf, pos)
    assignment, pos = read_bytes(buf, pos)
    value = MemberMetadata(
        member_id=member_id,
        group_instance_id=group_instance_id,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout=rebalance_timeout,
        session_timeout=session_timeout,
        subscription=subscription,
        assignment=assignment,
    )
    return value, pos


def _write_member_metadata_v3(out: bytearray, message: MemberMetadata) -> None:
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)
    write_string(out, message.client_id)
    write_string(out, message.client_host)
    out += _PACKED_ii.pack(message.rebalance_timeout, message.session_timeout)
    write_bytes(out, message.subscription)
    write_bytes(out, message.assignment)


def _read_member_metadata_v4(buf: Buffer, pos: int) -> tuple[MemberMetadata, int]:
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    rebalance_timeout, session_timeout = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    subscription, pos = read_compact_bytes(buf, pos)
    assignment, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MemberMetadata(
        member_id=member_id,
        group_instance_id=group_instance_id,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout=rebalance_timeout,
        session_timeout=session_timeout,
        subscription=subscription,
        assignment=assignment,
    )
    return value, pos


def _write_member_metadata_v4(out: bytearray, message: MemberMetadata) -> None:
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    write_compact_string(out, message.client_id)
    write_compact_string(out, message.client_host)
    out += _PACKED_ii.pack(message.rebalance_timeout, message.session_timeout)
    write_compact_bytes(out, message.subscription)
    write_compact_bytes(out, message.assignment)
    out.append(0)


def _read_group_metadata_value_v0(buf: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    protocol, pos = read_nullable_string(buf, pos)
    leader, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 18)
    members: list[MemberMetadata] = []
    for _ in range(count):
        members_item, pos = _read_member_metadata_v0(buf, pos)
        members.append(members_item)
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        members=members,
    )
    return value, pos


def _write_group_metadata_value_v0(out: bytearray, message: GroupMetadataValue) -> None:
    write_string(out, message.protocol_type)
    out += _PACKED_i.pack(message.generation)
    write_nullable_string(out, message.protocol)
    write_nullable_string(out, message.leader)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_member_metadata_v0(out, members_item)


def _read_group_metadata_value_v1(buf: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    protocol, pos = read_nullable_string(buf, pos)
    leader, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 22)
    members: list[MemberMetadata] = []
    for _ in range(count):
        members_item, pos = _read_member_metadata_v1(buf, pos)
        members.append(members_item)
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        members=members,
    )
    return value, pos


def _write_group_metadata_value_v1(out: bytearray, message: GroupMetadataValue) -> None:
    write_string(out, message.protocol_type)
    out += _PACKED_i.pack(message.generation)
    write_nullable_string(out, message.protocol)
    write_nullable_string(out, message.leader)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_member_metadata_v1(out, members_item)


def _read_group_metadata_value_v2(buf: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    protocol, pos = read_nullable_string(buf, pos)
    leader, pos = read_nullable_string(buf, pos)
    current_state_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    count, pos = read_array_length(buf, pos, 22)
    members: list[MemberMetadata] = []
    for _ in range(count):
        members_item, pos = _read_member_metadata_v1(buf, pos)
        members.append(members_item)
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        current_state_timestamp=current_state_timestamp,
        members=members,
    )
    return value, pos


def _write_group_metadata_value_v2(out: bytearray, message: GroupMetadataValue) -> None:
    write_string(out, message.protocol_type)
    out += _PACKED_i.pack(message.generation)
    write_nullable_string(out, message.protocol)
    write_nullable_string(out, message.leader)
    out += _PACKED_q.pack(message.current_state_timestamp)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_member_metadata_v1(out, members_item)


def _read_group_metadata_value_v3(buf: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_string(buf, pos)
    generation = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    protocol, pos = read_nullable_string(buf, pos)
    leader, pos = read_nullable_string(buf, pos)
    current_state_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    count, pos = read_array_length(buf, pos, 24)
    members: list[MemberMetadata] = []
    for _ in range(count):
        members_item, pos = _read_member_metadata_v3(buf, pos)
        members.append(members_item)
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        current_state_timestamp=current_state_timestamp,
        members=members,
    )
    return value, pos


def _write_group_metadata_value_v3(out: bytearray, message: GroupMetadataValue) -> None:
    write_string(out, message.protocol_type)
    out += _PACKED_i.pack(message.generation)
    write_nullable_string(out, message.protocol)
    write_nullable_string(out, message.leader)
    out += _PACKED_q.pack(message.current_state_timestamp)
    members = message.members
    write_array_length(out, len(members))
    for members_item in members:
        _write_member_metadata_v3(out, members_item)


def _read_group_metadata_value_v4(buf: Buffer, pos: int) -> tuple[GroupMetadataValue, int]:
    protocol_type, pos = read_compact_string(buf, pos)
    generation = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    protocol, pos = read_compact_nullable_string(buf, pos)
    leader, pos = read_compact_nullable_string(buf, pos)
    current_state_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    count, pos = read_compact_array_length(buf, pos, 15)
    members: list[MemberMetadata] = []
    for _ in range(count):
        members_item, pos = _read_member_metadata_v4(buf, pos)
        members.append(members_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = GroupMetadataValue(
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        current_state_timestamp=current_state_timestamp,
        members=members,
    )
    return value, pos


def _write_group_metadata_value_v4(out: bytearray, message: GroupMetadataValue) -> None:
    write_compact_string(out, message.protocol_type)
    out += _PACKED_i.pack(message.generation)
    write_compact_nullable_string(out, message.protocol)
    write_compact_nullable_string(out, message.leader)
    out += _PACKED_q.pack(message.current_state_timestamp)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_member_metadata_v4(out, members_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[GroupMetadataValue, int]], ...]] = (
    _read_group_metadata_value_v0,
    _read_group_metadata_value_v1,
    _read_group_metadata_value_v2,
    _read_group_metadata_value_v3,
    _read_group_metadata_value_v4,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, GroupMetadataValue], None], ...]] = (
    _write_group_metadata_value_v0,
    _write_group_metadata_value_v1,
    _write_group_metadata_value_v2,
    _write_group_metadata_value_v3,
    _write_group_metadata_value_v4,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> GroupMetadataValue:
    if not 0 <= version <= 4:
        raise unsupported_version("GroupMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("GroupMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: GroupMetadataValue, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("GroupMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"GroupMetadataValue holds a value out of range: {error}") from error


def encode_value(message: GroupMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
