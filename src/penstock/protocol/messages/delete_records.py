"""DeleteRecordsRequest and DeleteRecordsResponse.

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
    read_compact_string,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_string,
)

API_KEY: Final = 21
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_i: Final = struct.Struct(">i")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_iqh: Final = struct.Struct(">iqh")


class DeleteRecordsPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    offset: int = 0


class DeleteRecordsTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[DeleteRecordsPartition] = []


class DeleteRecordsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[DeleteRecordsTopic] = []
    timeout_ms: int = 0


class DeleteRecordsPartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    low_watermark: int = 0
    error_code: int = 0


class DeleteRecordsTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[DeleteRecordsPartitionResult] = []


class DeleteRecordsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[DeleteRecordsTopicResult] = []


def _read_delete_records_partition_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteRecordsPartition, int]:
    partition_index, offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    return DeleteRecordsPartition(partition_index=partition_index, offset=offset), pos


def _write_delete_records_partition_v0(out: bytearray, message: DeleteRecordsPartition) -> None:
    out += _PACKED_iq.pack(message.partition_index, message.offset)


def _read_delete_records_partition_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteRecordsPartition, int]:
    partition_index, offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteRecordsPartition(partition_index=partition_index, offset=offset), pos


def _write_delete_records_partition_v2(out: bytearray, message: DeleteRecordsPartition) -> None:
    out += _PACKED_iq.pack(message.partition_index, message.offset)
    out.append(0)


def _read_delete_records_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteRecordsTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 12)
    budget.take(count)
    partitions: list[DeleteRecordsPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_delete_records_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return DeleteRecordsTopic(name=name, partitions=partitions), pos


def _write_delete_records_topic_v0(out: bytearray, message: DeleteRecordsTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_delete_records_partition_v0(out, partitions_item)


def _read_delete_records_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteRecordsTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 13)
    budget.take(count)
    partitions: list[DeleteRecordsPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_delete_records_partition_v2(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteRecordsTopic(name=name, partitions=partitions), pos


def _write_delete_records_topic_v2(out: bytearray, message: DeleteRecordsTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_delete_records_partition_v2(out, partitions_item)
    out.append(0)


def _read_delete_records_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteRecordsRequest, int]:
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[DeleteRecordsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_delete_records_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms), pos


def _write_delete_records_request_v0(out: bytearray, message: DeleteRecordsRequest) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_delete_records_topic_v0(out, topics_item)
    out += _PACKED_i.pack(message.timeout_ms)


def _read_delete_records_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteRecordsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[DeleteRecordsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_delete_records_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms), pos


def _write_delete_records_request_v2(out: bytearray, message: DeleteRecordsRequest) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_delete_records_topic_v2(out, topics_item)
    out += _PACKED_i.pack(message.timeout_ms)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DeleteRecordsRequest, int]], ...]] = (
    _read_delete_records_request_v0,
    _read_delete_records_request_v0,
    _read_delete_records_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DeleteRecordsRequest], None], ...]] = (
    _write_delete_records_request_v0,
    _write_delete_records_request_v0,
    _write_delete_records_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DeleteRecordsRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteRecordsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteRecordsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DeleteRecordsRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteRecordsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteRecordsRequest holds a value out of range: {error}") from error


def encode_request(message: DeleteRecordsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_delete_records_partition_result_v0(buf: Buffer, pos: int) -> tuple[DeleteRecordsPartitionResult, int]:
    partition_index, low_watermark, error_code = _PACKED_iqh.unpack_from(buf, pos)
    pos += 14
    value = DeleteRecordsPartitionResult(
        partition_index=partition_index,
        low_watermark=low_watermark,
        error_code=error_code,
    )
    return value, pos


def _write_delete_records_partition_result_v0(out: bytearray, message: DeleteRecordsPartitionResult) -> None:
    out += _PACKED_iqh.pack(message.partition_index, message.low_watermark, message.error_code)


def _read_delete_records_partition_result_v2(buf: Buffer, pos: int) -> tuple[DeleteRecordsPartitionResult, int]:
    partition_index, low_watermark, error_code = _PACKED_iqh.unpack_from(buf, pos)
    pos += 14
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DeleteRecordsPartitionResult(
        partition_index=partition_index,
        low_watermark=low_watermark,
        error_code=error_code,
    )
    return value, pos


def _write_delete_records_partition_result_v2(out: bytearray, message: DeleteRecordsPartitionResult) -> None:
    out += _PACKED_iqh.pack(message.partition_index, message.low_watermark, message.error_code)
    out.append(0)


def _read_delete_records_topic_result_v0(buf: Buffer, pos: int) -> tuple[DeleteRecordsTopicResult, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    partitions: list[DeleteRecordsPartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_delete_records_partition_result_v0(buf, pos)
        partitions.append(partitions_item)
    return DeleteRecordsTopicResult(name=name, partitions=partitions), pos


def _write_delete_records_topic_result_v0(out: bytearray, message: DeleteRecordsTopicResult) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_delete_records_partition_result_v0(out, partitions_item)


def _read_delete_records_topic_result_v2(buf: Buffer, pos: int) -> tuple[DeleteRecordsTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 15)
    partitions: list[DeleteRecordsPartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_delete_records_partition_result_v2(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteRecordsTopicResult(name=name, partitions=partitions), pos


def _write_delete_records_topic_result_v2(out: bytearray, message: DeleteRecordsTopicResult) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_delete_records_partition_result_v2(out, partitions_item)
    out.append(0)


def _read_delete_records_response_v0(buf: Buffer, pos: int) -> tuple[DeleteRecordsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[DeleteRecordsTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_delete_records_topic_result_v0(buf, pos)
        topics.append(topics_item)
    return DeleteRecordsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_delete_records_response_v0(out: bytearray, message: DeleteRecordsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_delete_records_topic_result_v0(out, topics_item)


def _read_delete_records_response_v2(buf: Buffer, pos: int) -> tuple[DeleteRecordsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[DeleteRecordsTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_delete_records_topic_result_v2(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteRecordsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_delete_records_response_v2(out: bytearray, message: DeleteRecordsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_delete_records_topic_result_v2(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DeleteRecordsResponse, int]], ...]] = (
    _read_delete_records_response_v0,
    _read_delete_records_response_v0,
    _read_delete_records_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DeleteRecordsResponse], None], ...]] = (
    _write_delete_records_response_v0,
    _write_delete_records_response_v0,
    _write_delete_records_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DeleteRecordsResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteRecordsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteRecordsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DeleteRecordsResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteRecordsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteRecordsResponse holds a value out of range: {error}") from error


def encode_response(message: DeleteRecordsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
