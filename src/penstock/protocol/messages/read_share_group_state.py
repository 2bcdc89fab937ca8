"""ReadShareGroupStateRequest and ReadShareGroupStateResponse.

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

API_KEY: Final = 84
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_qqbh: Final = struct.Struct(">qqbh")
_PACKED_u: Final = struct.Struct(">16s")


class PartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    leader_epoch: int = 0


class ReadStateData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []


class ReadShareGroupStateRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[ReadStateData] = []


class StateBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0


class PartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    state_batches: list[StateBatch] = []


class ReadStateResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = []


class ReadShareGroupStateResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    results: list[ReadStateResult] = []


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


def _read_read_state_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ReadStateData, int]:
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
    return ReadStateData(topic_id=topic_id, partitions=partitions), pos


def _write_read_state_data_v0(out: bytearray, message: ReadStateData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_read_share_group_state_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ReadShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[ReadStateData] = []
    for _ in range(count):
        topics_item, pos = _read_read_state_data_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ReadShareGroupStateRequest(group_id=group_id, topics=topics), pos


def _write_read_share_group_state_request_v0(out: bytearray, message: ReadShareGroupStateRequest) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_read_state_data_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ReadShareGroupStateRequest, int]], ...]] = (
    _read_read_share_group_state_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ReadShareGroupStateRequest], None], ...]] = (
    _write_read_share_group_state_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ReadShareGroupStateRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("ReadShareGroupStateRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ReadShareGroupStateRequest is cut short") from error


def encode_request_into(out: bytearray, message: ReadShareGroupStateRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ReadShareGroupStateRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ReadShareGroupStateRequest holds a value out of range: {error}") from error


def encode_request(message: ReadShareGroupStateRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_state_batch_v0(buf: Buffer, pos: int) -> tuple[StateBatch, int]:
    first_offset, last_offset, delivery_state, delivery_count = _PACKED_qqbh.unpack_from(buf, pos)
    pos += 19
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = StateBatch(
        first_offset=first_offset,
        last_offset=last_offset,
        delivery_state=delivery_state,
        delivery_count=delivery_count,
    )
    return value, pos


def _write_state_batch_v0(out: bytearray, message: StateBatch) -> None:
    out += _PACKED_qqbh.pack(message.first_offset, message.last_offset, message.delivery_state, message.delivery_count)
    out.append(0)


def _read_partition_result_v0(buf: Buffer, pos: int) -> tuple[PartitionResult, int]:
    partition, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    state_epoch, start_offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    count, pos = read_compact_array_length(buf, pos, 20)
    state_batches: list[StateBatch] = []
    for _ in range(count):
        state_batches_item, pos = _read_state_batch_v0(buf, pos)
        state_batches.append(state_batches_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionResult(
        partition=partition,
        error_code=error_code,
        error_message=error_message,
        state_epoch=state_epoch,
        start_offset=start_offset,
        state_batches=state_batches,
    )
    return value, pos


def _write_partition_result_v0(out: bytearray, message: PartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_iq.pack(message.state_epoch, message.start_offset)
    state_batches = message.state_batches
    write_compact_array_length(out, len(state_batches))
    for state_batches_item in state_batches:
        _write_state_batch_v0(out, state_batches_item)
    out.append(0)


def _read_read_state_result_v0(buf: Buffer, pos: int) -> tuple[ReadStateResult, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 21)
    partitions: list[PartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_result_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReadStateResult(topic_id=topic_id, partitions=partitions), pos


def _write_read_state_result_v0(out: bytearray, message: ReadStateResult) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_result_v0(out, partitions_item)
    out.append(0)


def _read_read_share_group_state_response_v0(buf: Buffer, pos: int) -> tuple[ReadShareGroupStateResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    results: list[ReadStateResult] = []
    for _ in range(count):
        results_item, pos = _read_read_state_result_v0(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReadShareGroupStateResponse(results=results), pos


def _write_read_share_group_state_response_v0(out: bytearray, message: ReadShareGroupStateResponse) -> None:
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_read_state_result_v0(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ReadShareGroupStateResponse, int]], ...]] = (
    _read_read_share_group_state_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ReadShareGroupStateResponse], None], ...]] = (
    _write_read_share_group_state_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ReadShareGroupStateResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("ReadShareGroupStateResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ReadShareGroupStateResponse is cut short") from error


def encode_response_into(out: bytearray, message: ReadShareGroupStateResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ReadShareGroupStateResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ReadShareGroupStateResponse holds a value out of range: {error}") from error


def encode_response(message: ReadShareGroupStateResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
