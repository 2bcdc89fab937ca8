"""ShareGroupTargetAssignmentMemberKey and ShareGroupTargetAssignmentMemberValue.

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

RECORD_TYPE: Final = 13
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_u: Final = struct.Struct(">16s")


class ShareGroupTargetAssignmentMemberKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class TopicPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class ShareGroupTargetAssignmentMemberValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_partitions: list[TopicPartition] = []


def _read_share_group_target_assignment_member_key_v0(buf: Buffer, pos: int) -> tuple[ShareGroupTargetAssignmentMemberKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), pos


def _write_share_group_target_assignment_member_key_v0(out: bytearray, message: ShareGroupTargetAssignmentMemberKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupTargetAssignmentMemberKey, int]], ...]] = (
    _read_share_group_target_assignment_member_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupTargetAssignmentMemberKey], None], ...]] = (
    _write_share_group_target_assignment_member_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ShareGroupTargetAssignmentMemberKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupTargetAssignmentMemberKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupTargetAssignmentMemberKey is cut short") from error


def encode_key_into(out: bytearray, message: ShareGroupTargetAssignmentMemberKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupTargetAssignmentMemberKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupTargetAssignmentMemberKey holds a value out of range: {error}") from error


def encode_key(message: ShareGroupTargetAssignmentMemberKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_topic_partition_v0(buf: Buffer, pos: int) -> tuple[TopicPartition, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicPartition(topic_id=topic_id, partitions=partitions), pos


def _write_topic_partition_v0(out: bytearray, message: TopicPartition) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_share_group_target_assignment_member_value_v0(buf: Buffer, pos: int) -> tuple[ShareGroupTargetAssignmentMemberValue, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    topic_partitions: list[TopicPartition] = []
    for _ in range(count):
        topic_partitions_item, pos = _read_topic_partition_v0(buf, pos)
        topic_partitions.append(topic_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ShareGroupTargetAssignmentMemberValue(topic_partitions=topic_partitions), pos


def _write_share_group_target_assignment_member_value_v0(out: bytearray, message: ShareGroupTargetAssignmentMemberValue) -> None:
    topic_partitions = message.topic_partitions
    write_compact_array_length(out, len(topic_partitions))
    for topic_partitions_item in topic_partitions:
        _write_topic_partition_v0(out, topic_partitions_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupTargetAssignmentMemberValue, int]], ...]] = (
    _read_share_group_target_assignment_member_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupTargetAssignmentMemberValue], None], ...]] = (
    _write_share_group_target_assignment_member_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ShareGroupTargetAssignmentMemberValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupTargetAssignmentMemberValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupTargetAssignmentMemberValue is cut short") from error


def encode_value_into(out: bytearray, message: ShareGroupTargetAssignmentMemberValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupTargetAssignmentMemberValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupTargetAssignmentMemberValue holds a value out of range: {error}") from error


def encode_value(message: ShareGroupTargetAssignmentMemberValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
