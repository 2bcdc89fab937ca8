"""ListPartitionReassignmentsRequest and ListPartitionReassignmentsResponse.

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
    read_int32s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
)

API_KEY: Final = 46
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class ListPartitionReassignmentsTopics(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partition_indexes: list[int] = []


class ListPartitionReassignmentsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


class OngoingPartitionReassignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    replicas: list[int] = []
    adding_replicas: list[int] = []
    removing_replicas: list[int] = []


class OngoingTopicReassignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = []


class ListPartitionReassignmentsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = []


def _read_list_partition_reassignments_topics_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ListPartitionReassignmentsTopics, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partition_indexes, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListPartitionReassignmentsTopics(name=name, partition_indexes=partition_indexes), pos


def _write_list_partition_reassignments_topics_v0(out: bytearray, message: ListPartitionReassignmentsTopics) -> None:
    write_compact_string(out, message.name)
    partition_indexes = message.partition_indexes
    write_compact_array_length(out, len(partition_indexes))
    write_int32s(out, partition_indexes)
    out.append(0)


def _read_list_partition_reassignments_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ListPartitionReassignmentsRequest, int]:
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[ListPartitionReassignmentsTopics] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_list_partition_reassignments_topics_v0(buf, pos, budget)
            topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics), pos


def _write_list_partition_reassignments_request_v0(out: bytearray, message: ListPartitionReassignmentsRequest) -> None:
    out += _PACKED_i.pack(message.timeout_ms)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_list_partition_reassignments_topics_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ListPartitionReassignmentsRequest, int]], ...]] = (
    _read_list_partition_reassignments_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ListPartitionReassignmentsRequest], None], ...]] = (
    _write_list_partition_reassignments_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ListPartitionReassignmentsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("ListPartitionReassignmentsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListPartitionReassignmentsRequest is cut short") from error


def encode_request_into(out: bytearray, message: ListPartitionReassignmentsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ListPartitionReassignmentsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListPartitionReassignmentsRequest holds a value out of range: {error}") from error


def encode_request(message: ListPartitionReassignmentsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_ongoing_partition_reassignment_v0(buf: Buffer, pos: int) -> tuple[OngoingPartitionReassignment, int]:
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 4)
    replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    adding_replicas, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    removing_replicas, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = OngoingPartitionReassignment(
        partition_index=partition_index,
        replicas=replicas,
        adding_replicas=adding_replicas,
        removing_replicas=removing_replicas,
    )
    return value, pos


def _write_ongoing_partition_reassignment_v0(out: bytearray, message: OngoingPartitionReassignment) -> None:
    out += _PACKED_i.pack(message.partition_index)
    replicas = message.replicas
    write_compact_array_length(out, len(replicas))
    write_int32s(out, replicas)
    adding_replicas = message.adding_replicas
    write_compact_array_length(out, len(adding_replicas))
    write_int32s(out, adding_replicas)
    removing_replicas = message.removing_replicas
    write_compact_array_length(out, len(removing_replicas))
    write_int32s(out, removing_replicas)
    out.append(0)


def _read_ongoing_topic_reassignment_v0(buf: Buffer, pos: int) -> tuple[OngoingTopicReassignment, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 8)
    partitions: list[OngoingPartitionReassignment] = []
    for _ in range(count):
        partitions_item, pos = _read_ongoing_partition_reassignment_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OngoingTopicReassignment(name=name, partitions=partitions), pos


def _write_ongoing_topic_reassignment_v0(out: bytearray, message: OngoingTopicReassignment) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_ongoing_partition_reassignment_v0(out, partitions_item)
    out.append(0)


def _read_list_partition_reassignments_response_v0(buf: Buffer, pos: int) -> tuple[ListPartitionReassignmentsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[OngoingTopicReassignment] = []
    for _ in range(count):
        topics_item, pos = _read_ongoing_topic_reassignment_v0(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListPartitionReassignmentsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        topics=topics,
    )
    return value, pos


def _write_list_partition_reassignments_response_v0(out: bytearray, message: ListPartitionReassignmentsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_ongoing_topic_reassignment_v0(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ListPartitionReassignmentsResponse, int]], ...]] = (
    _read_list_partition_reassignments_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ListPartitionReassignmentsResponse], None], ...]] = (
    _write_list_partition_reassignments_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ListPartitionReassignmentsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("ListPartitionReassignmentsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListPartitionReassignmentsResponse is cut short") from error


def encode_response_into(out: bytearray, message: ListPartitionReassignmentsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ListPartitionReassignmentsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListPartitionReassignmentsResponse holds a value out of range: {error}") from error


def encode_response(message: ListPartitionReassignmentsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
