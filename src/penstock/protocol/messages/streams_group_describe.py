"""StreamsGroupDescribeRequest and StreamsGroupDescribeResponse.

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
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_int32s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int32s,
)

API_KEY: Final = 89
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_H: Final = struct.Struct(">H")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_o: Final = struct.Struct(">?")


class StreamsGroupDescribeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_ids: list[str] = []
    include_authorized_operations: bool = False


class KeyValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    value: str = ""


class TopicInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[KeyValue] = []


class Subtopology(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    source_topics: list[str] = []
    repartition_sink_topics: list[str] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_source_topics: list[TopicInfo] = []


class Topology(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: int = 0
    subtopologies: list[Subtopology] | None = None


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    host: str = ""
    port: int = 0


class TaskOffset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    partition: int = 0
    offset: int = 0


class TaskIds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    partitions: list[int] = []


class Assignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    active_tasks: list[TaskIds] = []
    standby_tasks: list[TaskIds] = []
    warmup_tasks: list[TaskIds] = []


class Member(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = []
    task_offsets: list[TaskOffset] = []
    task_end_offsets: list[TaskOffset] = []
    assignment: Assignment = Assignment()
    target_assignment: Assignment = Assignment()
    is_classic: bool = False


class DescribedGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    topology: Topology | None = None
    members: list[Member] = []
    authorized_operations: int = -2147483648


class StreamsGroupDescribeResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []


def _read_streams_group_describe_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[StreamsGroupDescribeRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    group_ids, pos = read_compact_strings(buf, pos, count)
    include_authorized_operations = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = StreamsGroupDescribeRequest(
        group_ids=group_ids,
        include_authorized_operations=include_authorized_operations,
    )
    return value, pos


def _write_streams_group_describe_request_v0(out: bytearray, message: StreamsGroupDescribeRequest) -> None:
    group_ids = message.group_ids
    write_compact_array_length(out, len(group_ids))
    write_compact_strings(out, group_ids)
    out += _PACKED_o.pack(message.include_authorized_operations)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[StreamsGroupDescribeRequest, int]], ...]] = (
    _read_streams_group_describe_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupDescribeRequest], None], ...]] = (
    _write_streams_group_describe_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupDescribeRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupDescribeRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupDescribeRequest is cut short") from error


def encode_request_into(out: bytearray, message: StreamsGroupDescribeRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupDescribeRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupDescribeRequest holds a value out of range: {error}") from error


def encode_request(message: StreamsGroupDescribeRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_key_value_v0(buf: Buffer, pos: int) -> tuple[KeyValue, int]:
    key, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return KeyValue(key=key, value=value_), pos


def _write_key_value_v0(out: bytearray, message: KeyValue) -> None:
    write_compact_string(out, message.key)
    write_compact_string(out, message.value)
    out.append(0)


def _read_topic_info_v0(buf: Buffer, pos: int) -> tuple[TopicInfo, int]:
    name, pos = read_compact_string(buf, pos)
    partitions, replication_factor = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    topic_configs: list[KeyValue] = []
    for _ in range(count):
        topic_configs_item, pos = _read_key_value_v0(buf, pos)
        topic_configs.append(topic_configs_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = TopicInfo(
        name=name,
        partitions=partitions,
        replication_factor=replication_factor,
        topic_configs=topic_configs,
    )
    return value, pos


def _write_topic_info_v0(out: bytearray, message: TopicInfo) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_ih.pack(message.partitions, message.replication_factor)
    topic_configs = message.topic_configs
    write_compact_array_length(out, len(topic_configs))
    for topic_configs_item in topic_configs:
        _write_key_value_v0(out, topic_configs_item)
    out.append(0)


def _read_subtopology_v0(buf: Buffer, pos: int) -> tuple[Subtopology, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 1)
    source_topics, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 1)
    repartition_sink_topics, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 9)
    state_changelog_topics: list[TopicInfo] = []
    for _ in range(count):
        state_changelog_topics_item, pos = _read_topic_info_v0(buf, pos)
        state_changelog_topics.append(state_changelog_topics_item)
    count, pos = read_compact_array_length(buf, pos, 9)
    repartition_source_topics: list[TopicInfo] = []
    for _ in range(count):
        repartition_source_topics_item, pos = _read_topic_info_v0(buf, pos)
        repartition_source_topics.append(repartition_source_topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = Subtopology(
        subtopology_id=subtopology_id,
        source_topics=source_topics,
        repartition_sink_topics=repartition_sink_topics,
        state_changelog_topics=state_changelog_topics,
        repartition_source_topics=repartition_source_topics,
    )
    return value, pos


def _write_subtopology_v0(out: bytearray, message: Subtopology) -> None:
    write_compact_string(out, message.subtopology_id)
    source_topics = message.source_topics
    write_compact_array_length(out, len(source_topics))
    write_compact_strings(out, source_topics)
    repartition_sink_topics = message.repartition_sink_topics
    write_compact_array_length(out, len(repartition_sink_topics))
    write_compact_strings(out, repartition_sink_topics)
    state_changelog_topics = message.state_changelog_topics
    write_compact_array_length(out, len(state_changelog_topics))
    for state_changelog_topics_item in state_changelog_topics:
        _write_topic_info_v0(out, state_changelog_topics_item)
    repartition_source_topics = message.repartition_source_topics
    write_compact_array_length(out, len(repartition_source_topics))
    for repartition_source_topics_item in repartition_source_topics:
        _write_topic_info_v0(out, repartition_source_topics_item)
    out.append(0)


def _read_topology_v0(buf: Buffer, pos: int) -> tuple[Topology, int]:
    epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 6)
    subtopologies: list[Subtopology] | None = None
    if count >= 0:
        subtopologies = []
        for _ in range(count):
            subtopologies_item, pos = _read_subtopology_v0(buf, pos)
            subtopologies.append(subtopologies_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Topology(epoch=epoch, subtopologies=subtopologies), pos


def _write_topology_v0(out: bytearray, message: Topology) -> None:
    out += _PACKED_i.pack(message.epoch)
    subtopologies = message.subtopologies
    if subtopologies is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(subtopologies))
        for subtopologies_item in subtopologies:
            _write_subtopology_v0(out, subtopologies_item)
    out.append(0)


def _read_endpoint_v0(buf: Buffer, pos: int) -> tuple[Endpoint, int]:
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Endpoint(host=host, port=port), pos


def _write_endpoint_v0(out: bytearray, message: Endpoint) -> None:
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_task_offset_v0(buf: Buffer, pos: int) -> tuple[TaskOffset, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    partition, offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TaskOffset(subtopology_id=subtopology_id, partition=partition, offset=offset), pos


def _write_task_offset_v0(out: bytearray, message: TaskOffset) -> None:
    write_compact_string(out, message.subtopology_id)
    out += _PACKED_iq.pack(message.partition, message.offset)
    out.append(0)


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


def _read_assignment_v0(buf: Buffer, pos: int) -> tuple[Assignment, int]:
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
    value = Assignment(
        active_tasks=active_tasks,
        standby_tasks=standby_tasks,
        warmup_tasks=warmup_tasks,
    )
    return value, pos


def _write_assignment_v0(out: bytearray, message: Assignment) -> None:
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


def _read_member_v0(buf: Buffer, pos: int) -> tuple[Member, int]:
    member_id, pos = read_compact_string(buf, pos)
    member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    topology_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    process_id, pos = read_compact_string(buf, pos)
    user_endpoint: Endpoint | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        user_endpoint, pos = _read_endpoint_v0(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    client_tags: list[KeyValue] = []
    for _ in range(count):
        client_tags_item, pos = _read_key_value_v0(buf, pos)
        client_tags.append(client_tags_item)
    count, pos = read_compact_array_length(buf, pos, 14)
    task_offsets: list[TaskOffset] = []
    for _ in range(count):
        task_offsets_item, pos = _read_task_offset_v0(buf, pos)
        task_offsets.append(task_offsets_item)
    count, pos = read_compact_array_length(buf, pos, 14)
    task_end_offsets: list[TaskOffset] = []
    for _ in range(count):
        task_end_offsets_item, pos = _read_task_offset_v0(buf, pos)
        task_end_offsets.append(task_end_offsets_item)
    assignment, pos = _read_assignment_v0(buf, pos)
    target_assignment, pos = _read_assignment_v0(buf, pos)
    is_classic = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = Member(
        member_id=member_id,
        member_epoch=member_epoch,
        instance_id=instance_id,
        rack_id=rack_id,
        client_id=client_id,
        client_host=client_host,
        topology_epoch=topology_epoch,
        process_id=process_id,
        user_endpoint=user_endpoint,
        client_tags=client_tags,
        task_offsets=task_offsets,
        task_end_offsets=task_end_offsets,
        assignment=assignment,
        target_assignment=target_assignment,
        is_classic=is_classic,
    )
    return value, pos


def _write_member_v0(out: bytearray, message: Member) -> None:
    write_compact_string(out, message.member_id)
    out += _PACKED_i.pack(message.member_epoch)
    write_compact_nullable_string(out, message.instance_id)
    write_compact_nullable_string(out, message.rack_id)
    write_compact_string(out, message.client_id)
    write_compact_string(out, message.client_host)
    out += _PACKED_i.pack(message.topology_epoch)
    write_compact_string(out, message.process_id)
    if message.user_endpoint is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_endpoint_v0(out, message.user_endpoint)
    client_tags = message.client_tags
    write_compact_array_length(out, len(client_tags))
    for client_tags_item in client_tags:
        _write_key_value_v0(out, client_tags_item)
    task_offsets = message.task_offsets
    write_compact_array_length(out, len(task_offsets))
    for task_offsets_item in task_offsets:
        _write_task_offset_v0(out, task_offsets_item)
    task_end_offsets = message.task_end_offsets
    write_compact_array_length(out, len(task_end_offsets))
    for task_end_offsets_item in task_end_offsets:
        _write_task_offset_v0(out, task_end_offsets_item)
    _write_assignment_v0(out, message.assignment)
    _write_assignment_v0(out, message.target_assignment)
    out += _PACKED_o.pack(message.is_classic)
    out.append(0)


def _read_described_group_v0(buf: Buffer, pos: int) -> tuple[DescribedGroup, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    group_id, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    group_epoch, assignment_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    topology: Topology | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        topology, pos = _read_topology_v0(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 28)
    members: list[Member] = []
    for _ in range(count):
        members_item, pos = _read_member_v0(buf, pos)
        members.append(members_item)
    authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedGroup(
        error_code=error_code,
        error_message=error_message,
        group_id=group_id,
        group_state=group_state,
        group_epoch=group_epoch,
        assignment_epoch=assignment_epoch,
        topology=topology,
        members=members,
        authorized_operations=authorized_operations,
    )
    return value, pos


def _write_described_group_v0(out: bytearray, message: DescribedGroup) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.group_state)
    out += _PACKED_ii.pack(message.group_epoch, message.assignment_epoch)
    if message.topology is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_topology_v0(out, message.topology)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_member_v0(out, members_item)
    out += _PACKED_i.pack(message.authorized_operations)
    out.append(0)


def _read_streams_group_describe_response_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupDescribeResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 20)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v0(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return StreamsGroupDescribeResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_streams_group_describe_response_v0(out: bytearray, message: StreamsGroupDescribeResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v0(out, groups_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupDescribeResponse, int]], ...]] = (
    _read_streams_group_describe_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupDescribeResponse], None], ...]] = (
    _write_streams_group_describe_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupDescribeResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupDescribeResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupDescribeResponse is cut short") from error


def encode_response_into(out: bytearray, message: StreamsGroupDescribeResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupDescribeResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupDescribeResponse holds a value out of range: {error}") from error


def encode_response(message: StreamsGroupDescribeResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
