"""StreamsGroupTargetAssignmentMemberKey and StreamsGroupTargetAssignmentMemberValue.

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
    read_compact_string,
    read_int32s,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
    write_string,
)

RECORD_TYPE: Final = 21
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)


class StreamsGroupTargetAssignmentMemberKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class TaskIds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    partitions: list[int] = []


class StreamsGroupTargetAssignmentMemberValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []


def _read_streams_group_target_assignment_member_key_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupTargetAssignmentMemberKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), pos


def _write_streams_group_target_assignment_member_key_v0(out: bytearray, message: StreamsGroupTargetAssignmentMemberKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupTargetAssignmentMemberKey, int]], ...]] = (
    _read_streams_group_target_assignment_member_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupTargetAssignmentMemberKey], None], ...]] = (
    _write_streams_group_target_assignment_member_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupTargetAssignmentMemberKey:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTargetAssignmentMemberKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupTargetAssignmentMemberKey is cut short") from error


def encode_key_into(out: bytearray, message: StreamsGroupTargetAssignmentMemberKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTargetAssignmentMemberKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupTargetAssignmentMemberKey holds a value out of range: {error}") from error


def encode_key(message: StreamsGroupTargetAssignmentMemberKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_task_ids_v0(buf: Buffer, pos: int) -> tuple[TaskIds, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TaskIds(subtopology_id=subtopology_id, partitions=partitions), pos


def _write_task_ids_v0(out: bytearray, message: TaskIds) -> None:
    write_compact_string(out, message.subtopology_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_streams_group_target_assignment_member_value_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupTargetAssignmentMemberValue, int]:
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
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = StreamsGroupTargetAssignmentMemberValue(
        active_tasks=active_tasks,
        standby_tasks=standby_tasks,
        warmup_tasks=warmup_tasks,
    )
    return value, pos


def _write_streams_group_target_assignment_member_value_v0(out: bytearray, message: StreamsGroupTargetAssignmentMemberValue) -> None:
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
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupTargetAssignmentMemberValue, int]], ...]] = (
    _read_streams_group_target_assignment_member_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupTargetAssignmentMemberValue], None], ...]] = (
    _write_streams_group_target_assignment_member_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupTargetAssignmentMemberValue:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTargetAssignmentMemberValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupTargetAssignmentMemberValue is cut short") from error


def encode_value_into(out: bytearray, message: StreamsGroupTargetAssignmentMemberValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupTargetAssignmentMemberValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupTargetAssignmentMemberValue holds a value out of range: {error}") from error


def encode_value(message: StreamsGroupTargetAssignmentMemberValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
