"""StreamsGroupHeartbeatRequest and StreamsGroupHeartbeatResponse.

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
    read_int16s,
    read_int32s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int16s,
    write_int32s,
)

API_KEY: Final = 88
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_H: Final = struct.Struct(">H")
_PACKED_b: Final = struct.Struct(">b")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iiii: Final = struct.Struct(">iiii")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_o: Final = struct.Struct(">?")


class KeyValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    value: str = ""


class TopicInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: list[KeyValue] = []


class CopartitionGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    source_topics: list[int] = []
    source_topic_regex: list[int] = []
    repartition_source_topics: list[int] = []


class Subtopology(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    source_topics: list[str] = []
    source_topic_regex: list[str] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_sink_topics: list[str] = []
    repartition_source_topics: list[TopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []


class Topology(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: int = 0
    subtopologies: list[Subtopology] = []


class RequestTaskIds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    partitions: list[int] = []


class RequestEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    host: str = ""
    port: int = 0


class TaskOffset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    partition: int = 0
    offset: int = 0


class StreamsGroupHeartbeatRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    endpoint_information_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: Topology | None = None
    active_tasks: list[RequestTaskIds] | None = None
    standby_tasks: list[RequestTaskIds] | None = None
    warmup_tasks: list[RequestTaskIds] | None = None
    process_id: str | None = None
    user_endpoint: RequestEndpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: bool = False


class Status(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    status_code: int = 0
    status_detail: str = ""


class ResponseTaskIds(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    subtopology_id: str = ""
    partitions: list[int] = []


class ResponseEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    host: str = ""
    port: int = 0


class TopicPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[int] = []


class EndpointToPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    user_endpoint: ResponseEndpoint = ResponseEndpoint()
    active_partitions: list[TopicPartition] = []
    standby_partitions: list[TopicPartition] = []


class StreamsGroupHeartbeatResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    acceptable_recovery_lag: int = 0
    task_offset_interval_ms: int = 0
    status: list[Status] | None = []
    active_tasks: list[ResponseTaskIds] | None = None
    standby_tasks: list[ResponseTaskIds] | None = None
    warmup_tasks: list[ResponseTaskIds] | None = None
    endpoint_information_epoch: int = 0
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None


def _read_key_value_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[KeyValue, int]:
    key, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return KeyValue(key=key, value=value_), pos


def _write_key_value_v0(out: bytearray, message: KeyValue) -> None:
    write_compact_string(out, message.key)
    write_compact_string(out, message.value)
    out.append(0)


def _read_topic_info_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicInfo, int]:
    name, pos = read_compact_string(buf, pos)
    partitions, replication_factor = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topic_configs: list[KeyValue] = []
    for _ in range(count):
        topic_configs_item, pos = _read_key_value_v0(buf, pos, budget)
        topic_configs.append(topic_configs_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
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


def _read_copartition_group_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[CopartitionGroup, int]:
    count, pos = read_compact_array_length(buf, pos, 2)
    budget.take(count)
    source_topics, pos = read_int16s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 2)
    budget.take(count)
    source_topic_regex, pos = read_int16s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 2)
    budget.take(count)
    repartition_source_topics, pos = read_int16s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = CopartitionGroup(
        source_topics=source_topics,
        source_topic_regex=source_topic_regex,
        repartition_source_topics=repartition_source_topics,
    )
    return value, pos


def _write_copartition_group_v0(out: bytearray, message: CopartitionGroup) -> None:
    source_topics = message.source_topics
    write_compact_array_length(out, len(source_topics))
    write_int16s(out, source_topics)
    source_topic_regex = message.source_topic_regex
    write_compact_array_length(out, len(source_topic_regex))
    write_int16s(out, source_topic_regex)
    repartition_source_topics = message.repartition_source_topics
    write_compact_array_length(out, len(repartition_source_topics))
    write_int16s(out, repartition_source_topics)
    out.append(0)


def _read_subtopology_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[Subtopology, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    source_topics, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    source_topic_regex, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 9)
    budget.take(count)
    state_changelog_topics: list[TopicInfo] = []
    for _ in range(count):
        state_changelog_topics_item, pos = _read_topic_info_v0(buf, pos, budget)
        state_changelog_topics.append(state_changelog_topics_item)
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    repartition_sink_topics, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 9)
    budget.take(count)
    repartition_source_topics: list[TopicInfo] = []
    for _ in range(count):
        repartition_source_topics_item, pos = _read_topic_info_v0(buf, pos, budget)
        repartition_source_topics.append(repartition_source_topics_item)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    copartition_groups: list[CopartitionGroup] = []
    for _ in range(count):
        copartition_groups_item, pos = _read_copartition_group_v0(buf, pos, budget)
        copartition_groups.append(copartition_groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = Subtopology(
        subtopology_id=subtopology_id,
        source_topics=source_topics,
        source_topic_regex=source_topic_regex,
        state_changelog_topics=state_changelog_topics,
        repartition_sink_topics=repartition_sink_topics,
        repartition_source_topics=repartition_source_topics,
        copartition_groups=copartition_groups,
    )
    return value, pos


def _write_subtopology_v0(out: bytearray, message: Subtopology) -> None:
    write_compact_string(out, message.subtopology_id)
    source_topics = message.source_topics
    write_compact_array_length(out, len(source_topics))
    write_compact_strings(out, source_topics)
    source_topic_regex = message.source_topic_regex
    write_compact_array_length(out, len(source_topic_regex))
    write_compact_strings(out, source_topic_regex)
    state_changelog_topics = message.state_changelog_topics
    write_compact_array_length(out, len(state_changelog_topics))
    for state_changelog_topics_item in state_changelog_topics:
        _write_topic_info_v0(out, state_changelog_topics_item)
    repartition_sink_topics = message.repartition_sink_topics
    write_compact_array_length(out, len(repartition_sink_topics))
    write_compact_strings(out, repartition_sink_topics)
    repartition_source_topics = message.repartition_source_topics
    write_compact_array_length(out, len(repartition_source_topics))
    for repartition_source_topics_item in repartition_source_topics:
        _write_topic_info_v0(out, repartition_source_topics_item)
    copartition_groups = message.copartition_groups
    write_compact_array_length(out, len(copartition_groups))
    for copartition_groups_item in copartition_groups:
        _write_copartition_group_v0(out, copartition_groups_item)
    out.append(0)


def _read_topology_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[Topology, int]:
    epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    subtopologies: list[Subtopology] = []
    for _ in range(count):
        subtopologies_item, pos = _read_subtopology_v0(buf, pos, budget)
        subtopologies.append(subtopologies_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return Topology(epoch=epoch, subtopologies=subtopologies), pos


def _write_topology_v0(out: bytearray, message: Topology) -> None:
    out += _PACKED_i.pack(message.epoch)
    subtopologies = message.subtopologies
    write_compact_array_length(out, len(subtopologies))
    for subtopologies_item in subtopologies:
        _write_subtopology_v0(out, subtopologies_item)
    out.append(0)


def _read_request_task_ids_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTaskIds, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTaskIds(subtopology_id=subtopology_id, partitions=partitions), pos


def _write_request_task_ids_v0(out: bytearray, message: RequestTaskIds) -> None:
    write_compact_string(out, message.subtopology_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_request_endpoint_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestEndpoint, int]:
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestEndpoint(host=host, port=port), pos


def _write_request_endpoint_v0(out: bytearray, message: RequestEndpoint) -> None:
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_task_offset_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TaskOffset, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    partition, offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return TaskOffset(subtopology_id=subtopology_id, partition=partition, offset=offset), pos


def _write_task_offset_v0(out: bytearray, message: TaskOffset) -> None:
    write_compact_string(out, message.subtopology_id)
    out += _PACKED_iq.pack(message.partition, message.offset)
    out.append(0)


def _read_streams_group_heartbeat_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[StreamsGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    member_epoch, endpoint_information_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    rebalance_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    topology: Topology | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        topology, pos = _read_topology_v0(buf, pos, budget)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    active_tasks: list[RequestTaskIds] | None = None
    if count >= 0:
        active_tasks = []
        for _ in range(count):
            active_tasks_item, pos = _read_request_task_ids_v0(buf, pos, budget)
            active_tasks.append(active_tasks_item)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    standby_tasks: list[RequestTaskIds] | None = None
    if count >= 0:
        standby_tasks = []
        for _ in range(count):
            standby_tasks_item, pos = _read_request_task_ids_v0(buf, pos, budget)
            standby_tasks.append(standby_tasks_item)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    warmup_tasks: list[RequestTaskIds] | None = None
    if count >= 0:
        warmup_tasks = []
        for _ in range(count):
            warmup_tasks_item, pos = _read_request_task_ids_v0(buf, pos, budget)
            warmup_tasks.append(warmup_tasks_item)
    process_id, pos = read_compact_nullable_string(buf, pos)
    user_endpoint: RequestEndpoint | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        user_endpoint, pos = _read_request_endpoint_v0(buf, pos, budget)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    client_tags: list[KeyValue] | None = None
    if count >= 0:
        client_tags = []
        for _ in range(count):
            client_tags_item, pos = _read_key_value_v0(buf, pos, budget)
            client_tags.append(client_tags_item)
    count, pos = read_compact_nullable_array_length(buf, pos, 14)
    budget.take(count)
    task_offsets: list[TaskOffset] | None = None
    if count >= 0:
        task_offsets = []
        for _ in range(count):
            task_offsets_item, pos = _read_task_offset_v0(buf, pos, budget)
            task_offsets.append(task_offsets_item)
    count, pos = read_compact_nullable_array_length(buf, pos, 14)
    budget.take(count)
    task_end_offsets: list[TaskOffset] | None = None
    if count >= 0:
        task_end_offsets = []
        for _ in range(count):
            task_end_offsets_item, pos = _read_task_offset_v0(buf, pos, budget)
            task_end_offsets.append(task_end_offsets_item)
    shutdown_application = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = StreamsGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=member_epoch,
        endpoint_information_epoch=endpoint_information_epoch,
        instance_id=instance_id,
        rack_id=rack_id,
        rebalance_timeout_ms=rebalance_timeout_ms,
        topology=topology,
        active_tasks=active_tasks,
        standby_tasks=standby_tasks,
        warmup_tasks=warmup_tasks,
        process_id=process_id,
        user_endpoint=user_endpoint,
        client_tags=client_tags,
        task_offsets=task_offsets,
        task_end_offsets=task_end_offsets,
        shutdown_application=shutdown_application,
    )
    return value, pos


def _write_streams_group_heartbeat_request_v0(out: bytearray, message: StreamsGroupHeartbeatRequest) -> None:
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.member_id)
    out += _PACKED_ii.pack(message.member_epoch, message.endpoint_information_epoch)
    write_compact_nullable_string(out, message.instance_id)
    write_compact_nullable_string(out, message.rack_id)
    out += _PACKED_i.pack(message.rebalance_timeout_ms)
    if message.topology is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_topology_v0(out, message.topology)
    active_tasks = message.active_tasks
    if active_tasks is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(active_tasks))
        for active_tasks_item in active_tasks:
            _write_request_task_ids_v0(out, active_tasks_item)
    standby_tasks = message.standby_tasks
    if standby_tasks is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(standby_tasks))
        for standby_tasks_item in standby_tasks:
            _write_request_task_ids_v0(out, standby_tasks_item)
    warmup_tasks = message.warmup_tasks
    if warmup_tasks is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(warmup_tasks))
        for warmup_tasks_item in warmup_tasks:
            _write_request_task_ids_v0(out, warmup_tasks_item)
    write_compact_nullable_string(out, message.process_id)
    if message.user_endpoint is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_request_endpoint_v0(out, message.user_endpoint)
    client_tags = message.client_tags
    if client_tags is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(client_tags))
        for client_tags_item in client_tags:
            _write_key_value_v0(out, client_tags_item)
    task_offsets = message.task_offsets
    if task_offsets is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(task_offsets))
        for task_offsets_item in task_offsets:
            _write_task_offset_v0(out, task_offsets_item)
    task_end_offsets = message.task_end_offsets
    if task_end_offsets is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(task_end_offsets))
        for task_end_offsets_item in task_end_offsets:
            _write_task_offset_v0(out, task_end_offsets_item)
    out += _PACKED_o.pack(message.shutdown_application)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[StreamsGroupHeartbeatRequest, int]], ...]] = (
    _read_streams_group_heartbeat_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupHeartbeatRequest], None], ...]] = (
    _write_streams_group_heartbeat_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupHeartbeatRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupHeartbeatRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupHeartbeatRequest is cut short") from error


def encode_request_into(out: bytearray, message: StreamsGroupHeartbeatRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupHeartbeatRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupHeartbeatRequest holds a value out of range: {error}") from error


def encode_request(message: StreamsGroupHeartbeatRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_status_v0(buf: Buffer, pos: int) -> tuple[Status, int]:
    status_code = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    status_detail, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Status(status_code=status_code, status_detail=status_detail), pos


def _write_status_v0(out: bytearray, message: Status) -> None:
    out += _PACKED_b.pack(message.status_code)
    write_compact_string(out, message.status_detail)
    out.append(0)


def _read_response_task_ids_v0(buf: Buffer, pos: int) -> tuple[ResponseTaskIds, int]:
    subtopology_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTaskIds(subtopology_id=subtopology_id, partitions=partitions), pos


def _write_response_task_ids_v0(out: bytearray, message: ResponseTaskIds) -> None:
    write_compact_string(out, message.subtopology_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_response_endpoint_v0(buf: Buffer, pos: int) -> tuple[ResponseEndpoint, int]:
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseEndpoint(host=host, port=port), pos


def _write_response_endpoint_v0(out: bytearray, message: ResponseEndpoint) -> None:
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_topic_partition_v0(buf: Buffer, pos: int) -> tuple[TopicPartition, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicPartition(topic=topic, partitions=partitions), pos


def _write_topic_partition_v0(out: bytearray, message: TopicPartition) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_endpoint_to_partitions_v0(buf: Buffer, pos: int) -> tuple[EndpointToPartitions, int]:
    user_endpoint, pos = _read_response_endpoint_v0(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    active_partitions: list[TopicPartition] = []
    for _ in range(count):
        active_partitions_item, pos = _read_topic_partition_v0(buf, pos)
        active_partitions.append(active_partitions_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    standby_partitions: list[TopicPartition] = []
    for _ in range(count):
        standby_partitions_item, pos = _read_topic_partition_v0(buf, pos)
        standby_partitions.append(standby_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = EndpointToPartitions(
        user_endpoint=user_endpoint,
        active_partitions=active_partitions,
        standby_partitions=standby_partitions,
    )
    return value, pos


def _write_endpoint_to_partitions_v0(out: bytearray, message: EndpointToPartitions) -> None:
    _write_response_endpoint_v0(out, message.user_endpoint)
    active_partitions = message.active_partitions
    write_compact_array_length(out, len(active_partitions))
    for active_partitions_item in active_partitions:
        _write_topic_partition_v0(out, active_partitions_item)
    standby_partitions = message.standby_partitions
    write_compact_array_length(out, len(standby_partitions))
    for standby_partitions_item in standby_partitions:
        _write_topic_partition_v0(out, standby_partitions_item)
    out.append(0)


def _read_streams_group_heartbeat_response_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupHeartbeatResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    member_epoch, heartbeat_interval_ms, acceptable_recovery_lag, task_offset_interval_ms = _PACKED_iiii.unpack_from(buf, pos)
    pos += 16
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    status: list[Status] | None = None
    if count >= 0:
        status = []
        for _ in range(count):
            status_item, pos = _read_status_v0(buf, pos)
            status.append(status_item)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    active_tasks: list[ResponseTaskIds] | None = None
    if count >= 0:
        active_tasks = []
        for _ in range(count):
            active_tasks_item, pos = _read_response_task_ids_v0(buf, pos)
            active_tasks.append(active_tasks_item)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    standby_tasks: list[ResponseTaskIds] | None = None
    if count >= 0:
        standby_tasks = []
        for _ in range(count):
            standby_tasks_item, pos = _read_response_task_ids_v0(buf, pos)
            standby_tasks.append(standby_tasks_item)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    warmup_tasks: list[ResponseTaskIds] | None = None
    if count >= 0:
        warmup_tasks = []
        for _ in range(count):
            warmup_tasks_item, pos = _read_response_task_ids_v0(buf, pos)
            warmup_tasks.append(warmup_tasks_item)
    endpoint_information_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 7)
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
    if count >= 0:
        partitions_by_user_endpoint = []
        for _ in range(count):
            partitions_by_user_endpoint_item, pos = _read_endpoint_to_partitions_v0(buf, pos)
            partitions_by_user_endpoint.append(partitions_by_user_endpoint_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = StreamsGroupHeartbeatResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        member_id=member_id,
        member_epoch=member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        acceptable_recovery_lag=acceptable_recovery_lag,
        task_offset_interval_ms=task_offset_interval_ms,
        status=status,
        active_tasks=active_tasks,
        standby_tasks=standby_tasks,
        warmup_tasks=warmup_tasks,
        endpoint_information_epoch=endpoint_information_epoch,
        partitions_by_user_endpoint=partitions_by_user_endpoint,
    )
    return value, pos


def _write_streams_group_heartbeat_response_v0(out: bytearray, message: StreamsGroupHeartbeatResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_string(out, message.member_id)
    out += _PACKED_iiii.pack(message.member_epoch, message.heartbeat_interval_ms, message.acceptable_recovery_lag, message.task_offset_interval_ms)
    status = message.status
    if status is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(status))
        for status_item in status:
            _write_status_v0(out, status_item)
    active_tasks = message.active_tasks
    if active_tasks is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(active_tasks))
        for active_tasks_item in active_tasks:
            _write_response_task_ids_v0(out, active_tasks_item)
    standby_tasks = message.standby_tasks
    if standby_tasks is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(standby_tasks))
        for standby_tasks_item in standby_tasks:
            _write_response_task_ids_v0(out, standby_tasks_item)
    warmup_tasks = message.warmup_tasks
    if warmup_tasks is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(warmup_tasks))
        for warmup_tasks_item in warmup_tasks:
            _write_response_task_ids_v0(out, warmup_tasks_item)
    out += _PACKED_i.pack(message.endpoint_information_epoch)
    partitions_by_user_endpoint = message.partitions_by_user_endpoint
    if partitions_by_user_endpoint is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(partitions_by_user_endpoint))
        for partitions_by_user_endpoint_item in partitions_by_user_endpoint:
            _write_endpoint_to_partitions_v0(out, partitions_by_user_endpoint_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupHeartbeatResponse, int]], ...]] = (
    _read_streams_group_heartbeat_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupHeartbeatResponse], None], ...]] = (
    _write_streams_group_heartbeat_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupHeartbeatResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupHeartbeatResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupHeartbeatResponse is cut short") from error


def encode_response_into(out: bytearray, message: StreamsGroupHeartbeatResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupHeartbeatResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupHeartbeatResponse holds a value out of range: {error}") from error


def encode_response(message: StreamsGroupHeartbeatResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
