"""CreatePartitionsRequest and CreatePartitionsResponse.

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
    read_array_length,
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_nullable_array_length,
    read_nullable_string,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 37
VERSIONS: Final = range(0, 4)
FLEXIBLE_FROM: Final = 2

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_io: Final = struct.Struct(">i?")


class CreatePartitionsAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_ids: list[int] = []


class CreatePartitionsTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    count: int = 0
    assignments: list[CreatePartitionsAssignment] | None = []


class CreatePartitionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[CreatePartitionsTopic] = []
    timeout_ms: int = 0
    validate_only: bool = False


class CreatePartitionsTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    error_code: int = 0
    error_message: str | None = None


class CreatePartitionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    results: list[CreatePartitionsTopicResult] = []


def _read_create_partitions_assignment_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatePartitionsAssignment, int]:
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    broker_ids, pos = read_int32s(buf, pos, count)
    return CreatePartitionsAssignment(broker_ids=broker_ids), pos


def _write_create_partitions_assignment_v0(out: bytearray, message: CreatePartitionsAssignment) -> None:
    broker_ids = message.broker_ids
    write_array_length(out, len(broker_ids))
    write_int32s(out, broker_ids)


def _read_create_partitions_assignment_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatePartitionsAssignment, int]:
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    broker_ids, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreatePartitionsAssignment(broker_ids=broker_ids), pos


def _write_create_partitions_assignment_v2(out: bytearray, message: CreatePartitionsAssignment) -> None:
    broker_ids = message.broker_ids
    write_compact_array_length(out, len(broker_ids))
    write_int32s(out, broker_ids)
    out.append(0)


def _read_create_partitions_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatePartitionsTopic, int]:
    name, pos = read_string(buf, pos)
    count_ = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_nullable_array_length(buf, pos, 4)
    budget.take(count)
    assignments: list[CreatePartitionsAssignment] | None = None
    if count >= 0:
        assignments = []
        for _ in range(count):
            assignments_item, pos = _read_create_partitions_assignment_v0(buf, pos, budget)
            assignments.append(assignments_item)
    return CreatePartitionsTopic(name=name, count=count_, assignments=assignments), pos


def _write_create_partitions_topic_v0(out: bytearray, message: CreatePartitionsTopic) -> None:
    write_string(out, message.name)
    out += _PACKED_i.pack(message.count)
    assignments = message.assignments
    if assignments is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(assignments))
        for assignments_item in assignments:
            _write_create_partitions_assignment_v0(out, assignments_item)


def _read_create_partitions_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatePartitionsTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count_ = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 2)
    budget.take(count)
    assignments: list[CreatePartitionsAssignment] | None = None
    if count >= 0:
        assignments = []
        for _ in range(count):
            assignments_item, pos = _read_create_partitions_assignment_v2(buf, pos, budget)
            assignments.append(assignments_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreatePartitionsTopic(name=name, count=count_, assignments=assignments), pos


def _write_create_partitions_topic_v2(out: bytearray, message: CreatePartitionsTopic) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_i.pack(message.count)
    assignments = message.assignments
    if assignments is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(assignments))
        for assignments_item in assignments:
            _write_create_partitions_assignment_v2(out, assignments_item)
    out.append(0)


def _read_create_partitions_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatePartitionsRequest, int]:
    count, pos = read_array_length(buf, pos, 10)
    budget.take(count)
    topics: list[CreatePartitionsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_create_partitions_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _PACKED_io.unpack_from(buf, pos)
    pos += 5
    value = CreatePartitionsRequest(
        topics=topics,
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )
    return value, pos


def _write_create_partitions_request_v0(out: bytearray, message: CreatePartitionsRequest) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_create_partitions_topic_v0(out, topics_item)
    out += _PACKED_io.pack(message.timeout_ms, message.validate_only)


def _read_create_partitions_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatePartitionsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 7)
    budget.take(count)
    topics: list[CreatePartitionsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_create_partitions_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _PACKED_io.unpack_from(buf, pos)
    pos += 5
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = CreatePartitionsRequest(
        topics=topics,
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )
    return value, pos


def _write_create_partitions_request_v2(out: bytearray, message: CreatePartitionsRequest) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_create_partitions_topic_v2(out, topics_item)
    out += _PACKED_io.pack(message.timeout_ms, message.validate_only)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[CreatePartitionsRequest, int]], ...]] = (
    _read_create_partitions_request_v0,
    _read_create_partitions_request_v0,
    _read_create_partitions_request_v2,
    _read_create_partitions_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, CreatePartitionsRequest], None], ...]] = (
    _write_create_partitions_request_v0,
    _write_create_partitions_request_v0,
    _write_create_partitions_request_v2,
    _write_create_partitions_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> CreatePartitionsRequest:
    if not 0 <= version <= 3:
        raise unsupported_version("CreatePartitionsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreatePartitionsRequest is cut short") from error


def encode_request_into(out: bytearray, message: CreatePartitionsRequest, version: int) -> None:
    if not 0 <= version <= 3:
        raise unsupported_version("CreatePartitionsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreatePartitionsRequest holds a value out of range: {error}") from error


def encode_request(message: CreatePartitionsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_create_partitions_topic_result_v0(buf: Buffer, pos: int) -> tuple[CreatePartitionsTopicResult, int]:
    name, pos = read_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    value = CreatePartitionsTopicResult(
        name=name,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_create_partitions_topic_result_v0(out: bytearray, message: CreatePartitionsTopicResult) -> None:
    write_string(out, message.name)
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)


def _read_create_partitions_topic_result_v2(buf: Buffer, pos: int) -> tuple[CreatePartitionsTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = CreatePartitionsTopicResult(
        name=name,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_create_partitions_topic_result_v2(out: bytearray, message: CreatePartitionsTopicResult) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_create_partitions_response_v0(buf: Buffer, pos: int) -> tuple[CreatePartitionsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    results: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        results_item, pos = _read_create_partitions_topic_result_v0(buf, pos)
        results.append(results_item)
    return CreatePartitionsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_create_partitions_response_v0(out: bytearray, message: CreatePartitionsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_array_length(out, len(results))
    for results_item in results:
        _write_create_partitions_topic_result_v0(out, results_item)


def _read_create_partitions_response_v2(buf: Buffer, pos: int) -> tuple[CreatePartitionsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    results: list[CreatePartitionsTopicResult] = []
    for _ in range(count):
        results_item, pos = _read_create_partitions_topic_result_v2(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return CreatePartitionsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_create_partitions_response_v2(out: bytearray, message: CreatePartitionsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_create_partitions_topic_result_v2(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[CreatePartitionsResponse, int]], ...]] = (
    _read_create_partitions_response_v0,
    _read_create_partitions_response_v0,
    _read_create_partitions_response_v2,
    _read_create_partitions_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, CreatePartitionsResponse], None], ...]] = (
    _write_create_partitions_response_v0,
    _write_create_partitions_response_v0,
    _write_create_partitions_response_v2,
    _write_create_partitions_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> CreatePartitionsResponse:
    if not 0 <= version <= 3:
        raise unsupported_version("CreatePartitionsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreatePartitionsResponse is cut short") from error


def encode_response_into(out: bytearray, message: CreatePartitionsResponse, version: int) -> None:
    if not 0 <= version <= 3:
        raise unsupported_version("CreatePartitionsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreatePartitionsResponse holds a value out of range: {error}") from error


def encode_response(message: CreatePartitionsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
