"""ReadShareGroupStateSummaryRequest and ReadShareGroupStateSummaryResponse.

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
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 87
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iiq: Final = struct.Struct(">iiq")
_PACKED_iiqi: Final = struct.Struct(">iiqi")
_PACKED_u: Final = struct.Struct(">16s")


class PartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    leader_epoch: int = 0


class ReadStateSummaryData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []


class ReadShareGroupStateSummaryRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[ReadStateSummaryData] = []


class PartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1


class ReadStateSummaryResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = []


class ReadShareGroupStateSummaryResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    results: list[ReadStateSummaryResult] = []


def _read_partition_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return PartitionData(partition=partition, leader_epoch=leader_epoch), pos


def _write_partition_data_v0(out: bytearray, message: PartitionData) -> None:
    out += _PACKED_ii.pack(message.partition, message.leader_epoch)
    out.append(0)


def _read_read_state_summary_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ReadStateSummaryData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 9)
    budget.take(count)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ReadStateSummaryData(topic_id=topic_id, partitions=partitions), pos


def _write_read_state_summary_data_v0(out: bytearray, message: ReadStateSummaryData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_read_share_group_state_summary_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ReadShareGroupStateSummaryRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[ReadStateSummaryData] = []
    for _ in range(count):
        topics_item, pos = _read_read_state_summary_data_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ReadShareGroupStateSummaryRequest(group_id=group_id, topics=topics), pos


def _write_read_share_group_state_summary_request_v0(out: bytearray, message: ReadShareGroupStateSummaryRequest) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_read_state_summary_data_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ReadShareGroupStateSummaryRequest, int]], ...]] = (
    _read_read_share_group_state_summary_request_v0,
    _read_read_share_group_state_summary_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ReadShareGroupStateSummaryRequest], None], ...]] = (
    _write_read_share_group_state_summary_request_v0,
    _write_read_share_group_state_summary_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ReadShareGroupStateSummaryRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("ReadShareGroupStateSummaryRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ReadShareGroupStateSummaryRequest is cut short") from error


def encode_request_into(out: bytearray, message: ReadShareGroupStateSummaryRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("ReadShareGroupStateSummaryRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ReadShareGroupStateSummaryRequest holds a value out of range: {error}") from error


def encode_request(message: ReadShareGroupStateSummaryRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_partition_result_v0(buf: Buffer, pos: int) -> tuple[PartitionResult, int]:
    partition, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    state_epoch, leader_epoch, start_offset = _PACKED_iiq.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionResult(
        partition=partition,
        error_code=error_code,
        error_message=error_message,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
    )
    return value, pos


def _write_partition_result_v0(out: bytearray, message: PartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_iiq.pack(message.state_epoch, message.leader_epoch, message.start_offset)
    out.append(0)


def _read_partition_result_v1(buf: Buffer, pos: int) -> tuple[PartitionResult, int]:
    partition, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    state_epoch, leader_epoch, start_offset, delivery_complete_count = _PACKED_iiqi.unpack_from(buf, pos)
    pos += 20
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionResult(
        partition=partition,
        error_code=error_code,
        error_message=error_message,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=delivery_complete_count,
    )
    return value, pos


def _write_partition_result_v1(out: bytearray, message: PartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_iiqi.pack(message.state_epoch, message.leader_epoch, message.start_offset, message.delivery_complete_count)
    out.append(0)


def _read_read_state_summary_result_v0(buf: Buffer, pos: int) -> tuple[ReadStateSummaryResult, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 24)
    partitions: list[PartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_result_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReadStateSummaryResult(topic_id=topic_id, partitions=partitions), pos


def _write_read_state_summary_result_v0(out: bytearray, message: ReadStateSummaryResult) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_result_v0(out, partitions_item)
    out.append(0)


def _read_read_state_summary_result_v1(buf: Buffer, pos: int) -> tuple[ReadStateSummaryResult, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 28)
    partitions: list[PartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_result_v1(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReadStateSummaryResult(topic_id=topic_id, partitions=partitions), pos


def _write_read_state_summary_result_v1(out: bytearray, message: ReadStateSummaryResult) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_result_v1(out, partitions_item)
    out.append(0)


def _read_read_share_group_state_summary_response_v0(buf: Buffer, pos: int) -> tuple[ReadShareGroupStateSummaryResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    results: list[ReadStateSummaryResult] = []
    for _ in range(count):
        results_item, pos = _read_read_state_summary_result_v0(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReadShareGroupStateSummaryResponse(results=results), pos


def _write_read_share_group_state_summary_response_v0(out: bytearray, message: ReadShareGroupStateSummaryResponse) -> None:
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_read_state_summary_result_v0(out, results_item)
    out.append(0)


def _read_read_share_group_state_summary_response_v1(buf: Buffer, pos: int) -> tuple[ReadShareGroupStateSummaryResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    results: list[ReadStateSummaryResult] = []
    for _ in range(count):
        results_item, pos = _read_read_state_summary_result_v1(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReadShareGroupStateSummaryResponse(results=results), pos


def _write_read_share_group_state_summary_response_v1(out: bytearray, message: ReadShareGroupStateSummaryResponse) -> None:
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_read_state_summary_result_v1(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ReadShareGroupStateSummaryResponse, int]], ...]] = (
    _read_read_share_group_state_summary_response_v0,
    _read_read_share_group_state_summary_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ReadShareGroupStateSummaryResponse], None], ...]] = (
    _write_read_share_group_state_summary_response_v0,
    _write_read_share_group_state_summary_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ReadShareGroupStateSummaryResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("ReadShareGroupStateSummaryResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ReadShareGroupStateSummaryResponse is cut short") from error


def encode_response_into(out: bytearray, message: ReadShareGroupStateSummaryResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("ReadShareGroupStateSummaryResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ReadShareGroupStateSummaryResponse holds a value out of range: {error}") from error


def encode_response(message: ReadShareGroupStateSummaryResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
