"""ConsumerGroupCurrentMemberAssignmentKey and ConsumerGroupCurrentMemberAssignmentValue.

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
    read_compact_nullable_array_length,
    read_int32s,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_int32s,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 8
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_iib: Final = struct.Struct(">iib")
_PACKED_u: Final = struct.Struct(">16s")


class ConsumerGroupCurrentMemberAssignmentKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []
    assignment_epochs: list[int] | None = None


class ConsumerGroupCurrentMemberAssignmentValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    assigned_partitions: list[TopicPartitions] = []
    partitions_pending_revocation: list[TopicPartitions] = []


def _read_consumer_group_current_member_assignment_key_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupCurrentMemberAssignmentKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), pos


def _write_consumer_group_current_member_assignment_key_v0(out: bytearray, message: ConsumerGroupCurrentMemberAssignmentKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupCurrentMemberAssignmentKey, int]], ...]] = (
    _read_consumer_group_current_member_assignment_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupCurrentMemberAssignmentKey], None], ...]] = (
    _write_consumer_group_current_member_assignment_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupCurrentMemberAssignmentKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupCurrentMemberAssignmentKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupCurrentMemberAssignmentKey is cut short") from error


def encode_key_into(out: bytearray, message: ConsumerGroupCurrentMemberAssignmentKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupCurrentMemberAssignmentKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupCurrentMemberAssignmentKey holds a value out of range: {error}") from error


def encode_key(message: ConsumerGroupCurrentMemberAssignmentKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_topic_partitions_v0(buf: Buffer, pos: int) -> tuple[TopicPartitions, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    assignment_epochs: list[int] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_nullable_array_length(buf, pos, 4)
                assignment_epochs = None
                if count >= 0:
                    assignment_epochs, pos = read_int32s(buf, pos, count)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("TopicPartitions", tag)
    value = TopicPartitions(
        topic_id=topic_id,
        partitions=partitions,
        assignment_epochs=assignment_epochs,
    )
    return value, pos


def _write_topic_partitions_v0(out: bytearray, message: TopicPartitions) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    tagged: list[tuple[int, bytearray]] = []
    if message.assignment_epochs is not None:
        value = bytearray()
        assignment_epochs = message.assignment_epochs
        write_compact_array_length(value, len(assignment_epochs))
        write_int32s(value, assignment_epochs)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_consumer_group_current_member_assignment_value_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, int]:
    member_epoch, previous_member_epoch, state = _PACKED_iib.unpack_from(buf, pos)
    pos += 9
    count, pos = read_compact_array_length(buf, pos, 18)
    assigned_partitions: list[TopicPartitions] = []
    for _ in range(count):
        assigned_partitions_item, pos = _read_topic_partitions_v0(buf, pos)
        assigned_partitions.append(assigned_partitions_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    partitions_pending_revocation: list[TopicPartitions] = []
    for _ in range(count):
        partitions_pending_revocation_item, pos = _read_topic_partitions_v0(buf, pos)
        partitions_pending_revocation.append(partitions_pending_revocation_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member_epoch,
        previous_member_epoch=previous_member_epoch,
        state=state,
        assigned_partitions=assigned_partitions,
        partitions_pending_revocation=partitions_pending_revocation,
    )
    return value, pos


def _write_consumer_group_current_member_assignment_value_v0(out: bytearray, message: ConsumerGroupCurrentMemberAssignmentValue) -> None:
    out += _PACKED_iib.pack(message.member_epoch, message.previous_member_epoch, message.state)
    assigned_partitions = message.assigned_partitions
    write_compact_array_length(out, len(assigned_partitions))
    for assigned_partitions_item in assigned_partitions:
        _write_topic_partitions_v0(out, assigned_partitions_item)
    partitions_pending_revocation = message.partitions_pending_revocation
    write_compact_array_length(out, len(partitions_pending_revocation))
    for partitions_pending_revocation_item in partitions_pending_revocation:
        _write_topic_partitions_v0(out, partitions_pending_revocation_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupCurrentMemberAssignmentValue, int]], ...]] = (
    _read_consumer_group_current_member_assignment_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupCurrentMemberAssignmentValue], None], ...]] = (
    _write_consumer_group_current_member_assignment_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupCurrentMemberAssignmentValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupCurrentMemberAssignmentValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupCurrentMemberAssignmentValue is cut short") from error


def encode_value_into(out: bytearray, message: ConsumerGroupCurrentMemberAssignmentValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupCurrentMemberAssignmentValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupCurrentMemberAssignmentValue holds a value out of range: {error}") from error


def encode_value(message: ConsumerGroupCurrentMemberAssignmentValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
