"""DescribeTopicPartitionsRequest and DescribeTopicPartitionsResponse.

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
    ZERO_UUID,
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
)

API_KEY: Final = 75
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_h: Final = struct.Struct(">h")
_PACKED_hiii: Final = struct.Struct(">hiii")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_uo: Final = struct.Struct(">16s?")


class TopicRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""


class RequestCursor(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partition_index: int = 0


class DescribeTopicPartitionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[TopicRequest] = []
    response_partition_limit: int = 2000
    cursor: RequestCursor | None = None


class DescribeTopicPartitionsResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = []
    isr_nodes: list[int] = []
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    offline_replicas: list[int] = []


class DescribeTopicPartitionsResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    topic_authorized_operations: int = -2147483648


class ResponseCursor(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partition_index: int = 0


class DescribeTopicPartitionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    next_cursor: ResponseCursor | None = None


def _read_topic_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicRequest, int]:
    name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return TopicRequest(name=name), pos


def _write_topic_request_v0(out: bytearray, message: TopicRequest) -> None:
    write_compact_string(out, message.name)
    out.append(0)


def _read_request_cursor_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestCursor, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestCursor(topic_name=topic_name, partition_index=partition_index), pos


def _write_request_cursor_v0(out: bytearray, message: RequestCursor) -> None:
    write_compact_string(out, message.topic_name)
    out += _PACKED_i.pack(message.partition_index)
    out.append(0)


def _read_describe_topic_partitions_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeTopicPartitionsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 2)
    budget.take(count)
    topics: list[TopicRequest] = []
    for _ in range(count):
        topics_item, pos = _read_topic_request_v0(buf, pos, budget)
        topics.append(topics_item)
    response_partition_limit = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    cursor: RequestCursor | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        cursor, pos = _read_request_cursor_v0(buf, pos, budget)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeTopicPartitionsRequest(
        topics=topics,
        response_partition_limit=response_partition_limit,
        cursor=cursor,
    )
    return value, pos


def _write_describe_topic_partitions_request_v0(out: bytearray, message: DescribeTopicPartitionsRequest) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_topic_request_v0(out, topics_item)
    out += _PACKED_i.pack(message.response_partition_limit)
    if message.cursor is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_request_cursor_v0(out, message.cursor)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeTopicPartitionsRequest, int]], ...]] = (
    _read_describe_topic_partitions_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeTopicPartitionsRequest], None], ...]] = (
    _write_describe_topic_partitions_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeTopicPartitionsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTopicPartitionsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeTopicPartitionsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeTopicPartitionsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTopicPartitionsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeTopicPartitionsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeTopicPartitionsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_describe_topic_partitions_response_partition_v0(buf: Buffer, pos: int) -> tuple[DescribeTopicPartitionsResponsePartition, int]:
    error_code, partition_index, leader_id, leader_epoch = _PACKED_hiii.unpack_from(buf, pos)
    pos += 14
    count, pos = read_compact_array_length(buf, pos, 4)
    replica_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    isr_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_nullable_array_length(buf, pos, 4)
    eligible_leader_replicas: list[int] | None = None
    if count >= 0:
        eligible_leader_replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_nullable_array_length(buf, pos, 4)
    last_known_elr: list[int] | None = None
    if count >= 0:
        last_known_elr, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    offline_replicas, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeTopicPartitionsResponsePartition(
        error_code=error_code,
        partition_index=partition_index,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        replica_nodes=replica_nodes,
        isr_nodes=isr_nodes,
        eligible_leader_replicas=eligible_leader_replicas,
        last_known_elr=last_known_elr,
        offline_replicas=offline_replicas,
    )
    return value, pos


def _write_describe_topic_partitions_response_partition_v0(out: bytearray, message: DescribeTopicPartitionsResponsePartition) -> None:
    out += _PACKED_hiii.pack(message.error_code, message.partition_index, message.leader_id, message.leader_epoch)
    replica_nodes = message.replica_nodes
    write_compact_array_length(out, len(replica_nodes))
    write_int32s(out, replica_nodes)
    isr_nodes = message.isr_nodes
    write_compact_array_length(out, len(isr_nodes))
    write_int32s(out, isr_nodes)
    eligible_leader_replicas = message.eligible_leader_replicas
    if eligible_leader_replicas is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(eligible_leader_replicas))
        write_int32s(out, eligible_leader_replicas)
    last_known_elr = message.last_known_elr
    if last_known_elr is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(last_known_elr))
        write_int32s(out, last_known_elr)
    offline_replicas = message.offline_replicas
    write_compact_array_length(out, len(offline_replicas))
    write_int32s(out, offline_replicas)
    out.append(0)


def _read_describe_topic_partitions_response_topic_v0(buf: Buffer, pos: int) -> tuple[DescribeTopicPartitionsResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_compact_nullable_string(buf, pos)
    topic_id, is_internal = _PACKED_uo.unpack_from(buf, pos)
    pos += 17
    count, pos = read_compact_array_length(buf, pos, 20)
    partitions: list[DescribeTopicPartitionsResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_describe_topic_partitions_response_partition_v0(buf, pos)
        partitions.append(partitions_item)
    topic_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeTopicPartitionsResponseTopic(
        error_code=error_code,
        name=name,
        topic_id=topic_id,
        is_internal=is_internal,
        partitions=partitions,
        topic_authorized_operations=topic_authorized_operations,
    )
    return value, pos


def _write_describe_topic_partitions_response_topic_v0(out: bytearray, message: DescribeTopicPartitionsResponseTopic) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.name)
    out += _PACKED_uo.pack(message.topic_id, message.is_internal)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_describe_topic_partitions_response_partition_v0(out, partitions_item)
    out += _PACKED_i.pack(message.topic_authorized_operations)
    out.append(0)


def _read_response_cursor_v0(buf: Buffer, pos: int) -> tuple[ResponseCursor, int]:
    topic_name, pos = read_compact_string(buf, pos)
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseCursor(topic_name=topic_name, partition_index=partition_index), pos


def _write_response_cursor_v0(out: bytearray, message: ResponseCursor) -> None:
    write_compact_string(out, message.topic_name)
    out += _PACKED_i.pack(message.partition_index)
    out.append(0)


def _read_describe_topic_partitions_response_v0(buf: Buffer, pos: int) -> tuple[DescribeTopicPartitionsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 26)
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_describe_topic_partitions_response_topic_v0(buf, pos)
        topics.append(topics_item)
    next_cursor: ResponseCursor | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        next_cursor, pos = _read_response_cursor_v0(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeTopicPartitionsResponse(
        throttle_time_ms=throttle_time_ms,
        topics=topics,
        next_cursor=next_cursor,
    )
    return value, pos


def _write_describe_topic_partitions_response_v0(out: bytearray, message: DescribeTopicPartitionsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_describe_topic_partitions_response_topic_v0(out, topics_item)
    if message.next_cursor is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_response_cursor_v0(out, message.next_cursor)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeTopicPartitionsResponse, int]], ...]] = (
    _read_describe_topic_partitions_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeTopicPartitionsResponse], None], ...]] = (
    _write_describe_topic_partitions_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeTopicPartitionsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTopicPartitionsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeTopicPartitionsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeTopicPartitionsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTopicPartitionsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeTopicPartitionsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeTopicPartitionsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
