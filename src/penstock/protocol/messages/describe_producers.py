"""DescribeProducersRequest and DescribeProducersResponse.

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

API_KEY: Final = 61
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_qiiqiq: Final = struct.Struct(">qiiqiq")


class TopicRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partition_indexes: list[int] = []


class DescribeProducersRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[TopicRequest] = []


class ProducerState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    producer_id: int = 0
    producer_epoch: int = 0
    last_sequence: int = -1
    last_timestamp: int = -1
    coordinator_epoch: int = 0
    current_txn_start_offset: int = -1


class PartitionResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    active_producers: list[ProducerState] = []


class TopicResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[PartitionResponse] = []


class DescribeProducersResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[TopicResponse] = []


def _read_topic_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicRequest, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partition_indexes, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return TopicRequest(name=name, partition_indexes=partition_indexes), pos


def _write_topic_request_v0(out: bytearray, message: TopicRequest) -> None:
    write_compact_string(out, message.name)
    partition_indexes = message.partition_indexes
    write_compact_array_length(out, len(partition_indexes))
    write_int32s(out, partition_indexes)
    out.append(0)


def _read_describe_producers_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeProducersRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[TopicRequest] = []
    for _ in range(count):
        topics_item, pos = _read_topic_request_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeProducersRequest(topics=topics), pos


def _write_describe_producers_request_v0(out: bytearray, message: DescribeProducersRequest) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_topic_request_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeProducersRequest, int]], ...]] = (
    _read_describe_producers_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeProducersRequest], None], ...]] = (
    _write_describe_producers_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeProducersRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeProducersRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeProducersRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeProducersRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeProducersRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeProducersRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeProducersRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_producer_state_v0(buf: Buffer, pos: int) -> tuple[ProducerState, int]:
    producer_id, producer_epoch, last_sequence, last_timestamp, coordinator_epoch, current_txn_start_offset = _PACKED_qiiqiq.unpack_from(buf, pos)
    pos += 36
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ProducerState(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        last_sequence=last_sequence,
        last_timestamp=last_timestamp,
        coordinator_epoch=coordinator_epoch,
        current_txn_start_offset=current_txn_start_offset,
    )
    return value, pos


def _write_producer_state_v0(out: bytearray, message: ProducerState) -> None:
    out += _PACKED_qiiqiq.pack(message.producer_id, message.producer_epoch, message.last_sequence, message.last_timestamp, message.coordinator_epoch, message.current_txn_start_offset)
    out.append(0)


def _read_partition_response_v0(buf: Buffer, pos: int) -> tuple[PartitionResponse, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 37)
    active_producers: list[ProducerState] = []
    for _ in range(count):
        active_producers_item, pos = _read_producer_state_v0(buf, pos)
        active_producers.append(active_producers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionResponse(
        partition_index=partition_index,
        error_code=error_code,
        error_message=error_message,
        active_producers=active_producers,
    )
    return value, pos


def _write_partition_response_v0(out: bytearray, message: PartitionResponse) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    active_producers = message.active_producers
    write_compact_array_length(out, len(active_producers))
    for active_producers_item in active_producers:
        _write_producer_state_v0(out, active_producers_item)
    out.append(0)


def _read_topic_response_v0(buf: Buffer, pos: int) -> tuple[TopicResponse, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 9)
    partitions: list[PartitionResponse] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_response_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicResponse(name=name, partitions=partitions), pos


def _write_topic_response_v0(out: bytearray, message: TopicResponse) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_response_v0(out, partitions_item)
    out.append(0)


def _read_describe_producers_response_v0(buf: Buffer, pos: int) -> tuple[DescribeProducersResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[TopicResponse] = []
    for _ in range(count):
        topics_item, pos = _read_topic_response_v0(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeProducersResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_describe_producers_response_v0(out: bytearray, message: DescribeProducersResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_topic_response_v0(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeProducersResponse, int]], ...]] = (
    _read_describe_producers_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeProducersResponse], None], ...]] = (
    _write_describe_producers_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeProducersResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeProducersResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeProducersResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeProducersResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeProducersResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeProducersResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeProducersResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
