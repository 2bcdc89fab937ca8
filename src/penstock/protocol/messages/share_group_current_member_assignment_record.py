"""ShareGroupCurrentMemberAssignmentKey and ShareGroupCurrentMemberAssignmentValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    ZERO_UUID,
    read_compact_array_length,
    read_int32s,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_int32s,
    write_string,
)

RECORD_TYPE: Final = 14
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_iib: Final = struct.Struct(">iib")
_PACKED_u: Final = struct.Struct(">16s")


class ShareGroupCurrentMemberAssignmentKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class ShareGroupCurrentMemberAssignmentValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[TopicPartitions] = []


def _read_share_group_current_member_assignment_key_v0(buf: Buffer, pos: int) -> tuple[ShareGroupCurrentMemberAssignmentKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), pos


def _write_share_group_current_member_assignment_key_v0(out: bytearray, message: ShareGroupCurrentMemberAssignmentKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupCurrentMemberAssignmentKey, int]], ...]] = (
    _read_share_group_current_member_assignment_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupCurrentMemberAssignmentKey], None], ...]] = (
    _write_share_group_current_member_assignment_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ShareGroupCurrentMemberAssignmentKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupCurrentMemberAssignmentKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupCurrentMemberAssignmentKey is cut short") from error


def encode_key_into(out: bytearray, message: ShareGroupCurrentMemberAssignmentKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupCurrentMemberAssignmentKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupCurrentMemberAssignmentKey holds a value out of range: {error}") from error


def encode_key(message: ShareGroupCurrentMemberAssignmentKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_topic_partitions_v0(buf: Buffer, pos: int) -> tuple[TopicPartitions, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicPartitions(topic_id=topic_id, partitions=partitions), pos


def _write_topic_partitions_v0(out: bytearray, message: TopicPartitions) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_share_group_current_member_assignment_value_v0(buf: Buffer, pos: int) -> tuple[ShareGroupCurrentMemberAssignmentValue, int]:
    member_epoch, previous_member_epoch, state = _PACKED_iib.unpack_from(buf, pos)
    pos += 9
    count, pos = read_compact_array_length(buf, pos, 18)
    assigned_partitions: list[TopicPartitions] = []
    for _ in range(count):
        assigned_partitions_item, pos = _read_topic_partitions_v0(buf, pos)
        assigned_partitions.append(assigned_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ShareGroupCurrentMemberAssignmentValue(
        member_epoch=member_epoch,
        previous_member_epoch=previous_member_epoch,
        state=state,
        assigned_partitions=assigned_partitions,
    )
    return value, pos


def _write_share_group_current_member_assignment_value_v0(out: bytearray, message: ShareGroupCurrentMemberAssignmentValue) -> None:
    out += _PACKED_iib.pack(message.member_epoch, message.previous_member_epoch, message.state)
    assigned_partitions = message.assigned_partitions
    write_compact_array_length(out, len(assigned_partitions))
    for assigned_partitions_item in assigned_partitions:
        _write_topic_partitions_v0(out, assigned_partitions_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupCurrentMemberAssignmentValue, int]], ...]] = (
    _read_share_group_current_member_assignment_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupCurrentMemberAssignmentValue], None], ...]] = (
    _write_share_group_current_member_assignment_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ShareGroupCurrentMemberAssignmentValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupCurrentMemberAssignmentValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupCurrentMemberAssignmentValue is cut short") from error


def encode_value_into(out: bytearray, message: ShareGroupCurrentMemberAssignmentValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupCurrentMemberAssignmentValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupCurrentMemberAssignmentValue holds a value out of range: {error}") from error


def encode_value(message: ShareGroupCurrentMemberAssignmentValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
