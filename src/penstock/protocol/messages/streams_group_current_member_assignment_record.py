"""StreamsGroupCurrentMemberAssignmentKey and StreamsGroupCurrentMemberAssignmentValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_string,
    read_int32s,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 22
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_iib: Final = struct.Struct(">iib")


class StreamsGroupCurrentMemberAssignmentKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class TaskIds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    partitions: list[int] = []
    assignment_epochs: list[int] | None = None


class StreamsGroupCurrentMemberAssignmentValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_epoch: int = 0
    previous_member_epoch: int = 0
    state: int = 0
    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []
    active_tasks_pending_revocation: list[TaskIds] = []
    standby_tasks_pending_revocation: list[TaskIds] = []
    warmup_tasks_pending_revocation: list[TaskIds] = []


def _read_streams_group_current_member_assignment_key_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupCurrentMemberAssignmentKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), pos


def _write_streams_group_current_member_assignment_key_v0(out: bytearray, message: StreamsGroupCurrentMemberAssignmentKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupCurrentMemberAssignmentKey, int]], ...]] = (
    _read_streams_group_current_member_assignment_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupCurrentMemberAssignmentKey], None], ...]] = (
    _write_streams_group_current_member_assignment_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupCurrentMemberAssignmentKey:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupCurrentMemberAssignmentKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupCurrentMemberAssignmentKey is cut short") from error


def encode_key_into(out: bytearray, message: StreamsGroupCurrentMemberAssignmentKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupCurrentMemberAssignmentKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupCurrentMemberAssignmentKey holds a value out of range: {error}") from error


def encode_key(message: StreamsGroupCurrentMemberAssignmentKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_task_ids_v0(buf: Buffer, pos: int) -> tuple[TaskIds, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
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
                raise wrong_tag_size("TaskIds", tag)
    value = TaskIds(
        subtopology_id=subtopology_id,
        partitions=partitions,
        assignment_epochs=assignment_epochs,
    )
    return value, pos


def _write_task_ids_v0(out: bytearray, message: TaskIds) -> None:
    write_compact_string(out, message.subtopology_id)
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


def _read_streams_group_current_member_assignment_value_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupCurrentMemberAssignmentValue, int]:
    member_epoch, previous_member_epoch, state = _PACKED_iib.unpack_from(buf, pos)
    pos += 9
    count, pos = read_compact_array_length(buf, pos, 3)
    active_tasks: list[TaskIds] = []
    for _ in range(count):
        active_tasks_item, pos = _read_task_ids_v0(buf, pos)
        active_tasks.append(active_tasks_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    standby_tasks: list[TaskIds] = []
    for _ in range(count):
        standby_tasks_item, pos = _read_task_ids_v0(buf, pos)
        standby_tasks.append(standby_tasks_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    warmup_tasks: list[TaskIds] = []
    for _ in range(count):
        warmup_tasks_item, pos = _read_task_ids_v0(buf, pos)
        warmup_tasks.append(warmup_tasks_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    active_tasks_pending_revocation: list[TaskIds] = []
    for _ in range(count):
        active_tasks_pending_revocation_item, pos = _read_task_ids_v0(buf, pos)
        active_tasks_pending_revocation.append(active_tasks_pending_revocation_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    standby_tasks_pending_revocation: list[TaskIds] = []
    for _ in range(count):
        standby_tasks_pending_revocation_item, pos = _read_task_ids_v0(buf, pos)
        standby_tasks_pending_revocation.append(standby_tasks_pending_revocation_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    warmup_tasks_pending_revocation: list[TaskIds] = []
    for _ in range(count):
        warmup_tasks_pending_revocation_item, pos = _read_task_ids_v0(buf, pos)
        warmup_tasks_pending_revocation.append(warmup_tasks_pending_revocation_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=member_epoch,
        previous_member_epoch=previous_member_epoch,
        state=state,
        active_tasks=active_tasks,
        standby_tasks=standby_tasks,
        warmup_tasks=warmup_tasks,
        active_tasks_pending_revocation=active_tasks_pending_revocation,
        standby_tasks_pending_revocation=standby_tasks_pending_revocation,
        warmup_tasks_pending_revocation=warmup_tasks_pending_revocation,
    )
    return value, pos


def _write_streams_group_current_member_assignment_value_v0(out: bytearray, message: StreamsGroupCurrentMemberAssignmentValue) -> None:
    out += _PACKED_iib.pack(message.member_epoch, message.previous_member_epoch, message.state)
    active_tasks = message.active_tasks
    write_compact_array_length(out, len(active_tasks))
    for active_tasks_item in active_tasks:
        _write_task_ids_v0(out, active_tasks_item)
    standby_tasks = message.standby_tasks
    write_compact_array_length(out, len(standby_tasks))
    for standby_tasks_item in standby_tasks:
        _write_task_ids_v0(out, standby_tasks_item)
    warmup_tasks = message.warmup_tasks
    write_compact_array_length(out, len(warmup_tasks))
    for warmup_tasks_item in warmup_tasks:
        _write_task_ids_v0(out, warmup_tasks_item)
    active_tasks_pending_revocation = message.active_tasks_pending_revocation
    write_compact_array_length(out, len(active_tasks_pending_revocation))
    for active_tasks_pending_revocation_item in active_tasks_pending_revocation:
        _write_task_ids_v0(out, active_tasks_pending_revocation_item)
    standby_tasks_pending_revocation = message.standby_tasks_pending_revocation
    write_compact_array_length(out, len(standby_tasks_pending_revocation))
    for standby_tasks_pending_revocation_item in standby_tasks_pending_revocation:
        _write_task_ids_v0(out, standby_tasks_pending_revocation_item)
    warmup_tasks_pending_revocation = message.warmup_tasks_pending_revocation
    write_compact_array_length(out, len(warmup_tasks_pending_revocation))
    for warmup_tasks_pending_revocation_item in warmup_tasks_pending_revocation:
        _write_task_ids_v0(out, warmup_tasks_pending_revocation_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupCurrentMemberAssignmentValue, int]], ...]] = (
    _read_streams_group_current_member_assignment_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupCurrentMemberAssignmentValue], None], ...]] = (
    _write_streams_group_current_member_assignment_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupCurrentMemberAssignmentValue:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupCurrentMemberAssignmentValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupCurrentMemberAssignmentValue is cut short") from error


def encode_value_into(out: bytearray, message: StreamsGroupCurrentMemberAssignmentValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupCurrentMemberAssignmentValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupCurrentMemberAssignmentValue holds a value out of range: {error}") from error


def encode_value(message: StreamsGroupCurrentMemberAssignmentValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
