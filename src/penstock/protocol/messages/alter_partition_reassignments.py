"""AlterPartitionReassignmentsRequest and AlterPartitionReassignmentsResponse.

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
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
)

API_KEY: Final = 45
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_io: Final = struct.Struct(">i?")
_PACKED_ioh: Final = struct.Struct(">i?h")


class ReassignablePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    replicas: list[int] | None = None


class ReassignableTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[ReassignablePartition] = []


class AlterPartitionReassignmentsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True
    topics: list[ReassignableTopic] = []


class ReassignablePartitionResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""


class ReassignableTopicResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[ReassignablePartitionResponse] = []


class AlterPartitionReassignmentsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True
    error_code: int = 0
    error_message: str | None = ""
    responses: list[ReassignableTopicResponse] = []


def _read_reassignable_partition_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ReassignablePartition, int]:
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 4)
    budget.take(count)
    replicas: list[int] | None = None
    if count >= 0:
        replicas, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ReassignablePartition(partition_index=partition_index, replicas=replicas), pos


def _write_reassignable_partition_v0(out: bytearray, message: ReassignablePartition) -> None:
    out += _PACKED_i.pack(message.partition_index)
    replicas = message.replicas
    if replicas is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(replicas))
        write_int32s(out, replicas)
    out.append(0)


def _read_reassignable_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ReassignableTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 6)
    budget.take(count)
    partitions: list[ReassignablePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_reassignable_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ReassignableTopic(name=name, partitions=partitions), pos


def _write_reassignable_topic_v0(out: bytearray, message: ReassignableTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_reassignable_partition_v0(out, partitions_item)
    out.append(0)


def _read_alter_partition_reassignments_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterPartitionReassignmentsRequest, int]:
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[ReassignableTopic] = []
    for _ in range(count):
        topics_item, pos = _read_reassignable_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics), pos


def _write_alter_partition_reassignments_request_v0(out: bytearray, message: AlterPartitionReassignmentsRequest) -> None:
    if not message.allow_replication_factor_change:
        raise unsupported_field("AlterPartitionReassignmentsRequest.allow_replication_factor_change", 0, 0)
    out += _PACKED_i.pack(message.timeout_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_reassignable_topic_v0(out, topics_item)
    out.append(0)


def _read_alter_partition_reassignments_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterPartitionReassignmentsRequest, int]:
    timeout_ms, allow_replication_factor_change = _PACKED_io.unpack_from(buf, pos)
    pos += 5
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[ReassignableTopic] = []
    for _ in range(count):
        topics_item, pos = _read_reassignable_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms,
        allow_replication_factor_change=allow_replication_factor_change,
        topics=topics,
    )
    return value, pos


def _write_alter_partition_reassignments_request_v1(out: bytearray, message: AlterPartitionReassignmentsRequest) -> None:
    out += _PACKED_io.pack(message.timeout_ms, message.allow_replication_factor_change)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_reassignable_topic_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AlterPartitionReassignmentsRequest, int]], ...]] = (
    _read_alter_partition_reassignments_request_v0,
    _read_alter_partition_reassignments_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AlterPartitionReassignmentsRequest], None], ...]] = (
    _write_alter_partition_reassignments_request_v0,
    _write_alter_partition_reassignments_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AlterPartitionReassignmentsRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterPartitionReassignmentsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterPartitionReassignmentsRequest is cut short") from error


def encode_request_into(out: bytearray, message: AlterPartitionReassignmentsRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterPartitionReassignmentsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterPartitionReassignmentsRequest holds a value out of range: {error}") from error


def encode_request(message: AlterPartitionReassignmentsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_reassignable_partition_response_v0(buf: Buffer, pos: int) -> tuple[ReassignablePartitionResponse, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ReassignablePartitionResponse(
        partition_index=partition_index,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_reassignable_partition_response_v0(out: bytearray, message: ReassignablePartitionResponse) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_reassignable_topic_response_v0(buf: Buffer, pos: int) -> tuple[ReassignableTopicResponse, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 8)
    partitions: list[ReassignablePartitionResponse] = []
    for _ in range(count):
        partitions_item, pos = _read_reassignable_partition_response_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReassignableTopicResponse(name=name, partitions=partitions), pos


def _write_reassignable_topic_response_v0(out: bytearray, message: ReassignableTopicResponse) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_reassignable_partition_response_v0(out, partitions_item)
    out.append(0)


def _read_alter_partition_reassignments_response_v0(buf: Buffer, pos: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    responses: list[ReassignableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_reassignable_topic_response_v0(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterPartitionReassignmentsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        responses=responses,
    )
    return value, pos


def _write_alter_partition_reassignments_response_v0(out: bytearray, message: AlterPartitionReassignmentsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_reassignable_topic_response_v0(out, responses_item)
    out.append(0)


def _read_alter_partition_reassignments_response_v1(buf: Buffer, pos: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
    throttle_time_ms, allow_replication_factor_change, error_code = _PACKED_ioh.unpack_from(buf, pos)
    pos += 7
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    responses: list[ReassignableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_reassignable_topic_response_v0(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterPartitionReassignmentsResponse(
        throttle_time_ms=throttle_time_ms,
        allow_replication_factor_change=allow_replication_factor_change,
        error_code=error_code,
        error_message=error_message,
        responses=responses,
    )
    return value, pos


def _write_alter_partition_reassignments_response_v1(out: bytearray, message: AlterPartitionReassignmentsResponse) -> None:
    out += _PACKED_ioh.pack(message.throttle_time_ms, message.allow_replication_factor_change, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_reassignable_topic_response_v0(out, responses_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AlterPartitionReassignmentsResponse, int]], ...]] = (
    _read_alter_partition_reassignments_response_v0,
    _read_alter_partition_reassignments_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AlterPartitionReassignmentsResponse], None], ...]] = (
    _write_alter_partition_reassignments_response_v0,
    _write_alter_partition_reassignments_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AlterPartitionReassignmentsResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterPartitionReassignmentsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterPartitionReassignmentsResponse is cut short") from error


def encode_response_into(out: bytearray, message: AlterPartitionReassignmentsResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterPartitionReassignmentsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterPartitionReassignmentsResponse holds a value out of range: {error}") from error


def encode_response(message: AlterPartitionReassignmentsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
