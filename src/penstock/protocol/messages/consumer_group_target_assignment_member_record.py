"""ConsumerGroupTargetAssignmentMemberKey and ConsumerGroupTargetAssignmentMemberValue.

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

RECORD_TYPE: Final = 7
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_u: Final = struct.Struct(">16s")


class ConsumerGroupTargetAssignmentMemberKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class TopicPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class ConsumerGroupTargetAssignmentMemberValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_partitions: list[TopicPartition] = []


def _read_consumer_group_target_assignment_member_key_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupTargetAssignmentMemberKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), pos


def _write_consumer_group_target_assignment_member_key_v0(out: bytearray, message: ConsumerGroupTargetAssignmentMemberKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupTargetAssignmentMemberKey, int]], ...]] = (
    _read_consumer_group_target_assignment_member_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupTargetAssignmentMemberKey], None], ...]] = (
    _write_consumer_group_target_assignment_member_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupTargetAssignmentMemberKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMemberKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupTargetAssignmentMemberKey is cut short") from error


def encode_key_into(out: bytearray, message: ConsumerGroupTargetAssignmentMemberKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMemberKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupTargetAssignmentMemberKey holds a value out of range: {error}") from error


def encode_key(message: ConsumerGroupTargetAssignmentMemberKey, version: int) -> bytes:
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


def _read_consumer_group_target_assignment_member_value_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupTargetAssignmentMemberValue, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    topic_partitions: list[TopicPartition] = []
    for _ in range(count):
        topic_partitions_item, pos = _read_topic_partition_v0(buf, pos)
        topic_partitions.append(topic_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topic_partitions), pos


def _write_consumer_group_target_assignment_member_value_v0(out: bytearray, message: ConsumerGroupTargetAssignmentMemberValue) -> None:
    topic_partitions = message.topic_partitions
    write_compact_array_length(out, len(topic_partitions))
    for topic_partitions_item in topic_partitions:
        _write_topic_partition_v0(out, topic_partitions_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupTargetAssignmentMemberValue, int]], ...]] = (
    _read_consumer_group_target_assignment_member_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupTargetAssignmentMemberValue], None], ...]] = (
    _write_consumer_group_target_assignment_member_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupTargetAssignmentMemberValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMemberValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupTargetAssignmentMemberValue is cut short") from error


def encode_value_into(out: bytearray, message: ConsumerGroupTargetAssignmentMemberValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMemberValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupTargetAssignmentMemberValue holds a value out of range: {error}") from error


def encode_value(message: ConsumerGroupTargetAssignmentMemberValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
