"""WriteShareGroupStateRequest and WriteShareGroupStateResponse.

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

API_KEY: Final = 85
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iiiq: Final = struct.Struct(">iiiq")
_PACKED_iiiqi: Final = struct.Struct(">iiiqi")
_PACKED_qqbh: Final = struct.Struct(">qqbh")
_PACKED_u: Final = struct.Struct(">16s")


class StateBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0


class PartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: list[StateBatch] = []


class WriteStateData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []


class WriteShareGroupStateRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[WriteStateData] = []


class PartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None


class WriteStateResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = []


class WriteShareGroupStateResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    results: list[WriteStateResult] = []


def _read_state_batch_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[StateBatch, int]:
    first_offset, last_offset, delivery_state, delivery_count = _PACKED_qqbh.unpack_from(buf, pos)
    pos += 19
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
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


def _read_partition_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, state_epoch, leader_epoch, start_offset = _PACKED_iiiq.unpack_from(buf, pos)
    pos += 20
    count, pos = read_compact_array_length(buf, pos, 20)
    budget.take(count)
    state_batches: list[StateBatch] = []
    for _ in range(count):
        state_batches_item, pos = _read_state_batch_v0(buf, pos, budget)
        state_batches.append(state_batches_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = PartitionData(
        partition=partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        state_batches=state_batches,
    )
    return value, pos


def _write_partition_data_v0(out: bytearray, message: PartitionData) -> None:
    out += _PACKED_iiiq.pack(message.partition, message.state_epoch, message.leader_epoch, message.start_offset)
    state_batches = message.state_batches
    write_compact_array_length(out, len(state_batches))
    for state_batches_item in state_batches:
        _write_state_batch_v0(out, state_batches_item)
    out.append(0)


def _read_partition_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition, state_epoch, leader_epoch, start_offset, delivery_complete_count = _PACKED_iiiqi.unpack_from(buf, pos)
    pos += 24
    count, pos = read_compact_array_length(buf, pos, 20)
    budget.take(count)
    state_batches: list[StateBatch] = []
    for _ in range(count):
        state_batches_item, pos = _read_state_batch_v0(buf, pos, budget)
        state_batches.append(state_batches_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = PartitionData(
        partition=partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=delivery_complete_count,
        state_batches=state_batches,
    )
    return value, pos


def _write_partition_data_v1(out: bytearray, message: PartitionData) -> None:
    out += _PACKED_iiiqi.pack(message.partition, message.state_epoch, message.leader_epoch, message.start_offset, message.delivery_complete_count)
    state_batches = message.state_batches
    write_compact_array_length(out, len(state_batches))
    for state_batches_item in state_batches:
        _write_state_batch_v0(out, state_batches_item)
    out.append(0)


def _read_write_state_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[WriteStateData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 22)
    budget.take(count)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return WriteStateData(topic_id=topic_id, partitions=partitions), pos


def _write_write_state_data_v0(out: bytearray, message: WriteStateData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_write_state_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[WriteStateData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 26)
    budget.take(count)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return WriteStateData(topic_id=topic_id, partitions=partitions), pos


def _write_write_state_data_v1(out: bytearray, message: WriteStateData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v1(out, partitions_item)
    out.append(0)


def _read_write_share_group_state_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[WriteShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[WriteStateData] = []
    for _ in range(count):
        topics_item, pos = _read_write_state_data_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return WriteShareGroupStateRequest(group_id=group_id, topics=topics), pos


def _write_write_share_group_state_request_v0(out: bytearray, message: WriteShareGroupStateRequest) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_write_state_data_v0(out, topics_item)
    out.append(0)


def _read_write_share_group_state_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[WriteShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[WriteStateData] = []
    for _ in range(count):
        topics_item, pos = _read_write_state_data_v1(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return WriteShareGroupStateRequest(group_id=group_id, topics=topics), pos


def _write_write_share_group_state_request_v1(out: bytearray, message: WriteShareGroupStateRequest) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_write_state_data_v1(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[WriteShareGroupStateRequest, int]], ...]] = (
    _read_write_share_group_state_request_v0,
    _read_write_share_group_state_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, WriteShareGroupStateRequest], None], ...]] = (
    _write_write_share_group_state_request_v0,
    _write_write_share_group_state_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> WriteShareGroupStateRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("WriteShareGroupStateRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("WriteShareGroupStateRequest is cut short") from error


def encode_request_into(out: bytearray, message: WriteShareGroupStateRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("WriteShareGroupStateRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"WriteShareGroupStateRequest holds a value out of range: {error}") from error


def encode_request(message: WriteShareGroupStateRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_partition_result_v0(buf: Buffer, pos: int) -> tuple[PartitionResult, int]:
    partition, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return PartitionResult(partition=partition, error_code=error_code, error_message=error_message), pos


def _write_partition_result_v0(out: bytearray, message: PartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_write_state_result_v0(buf: Buffer, pos: int) -> tuple[WriteStateResult, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 8)
    partitions: list[PartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_result_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return WriteStateResult(topic_id=topic_id, partitions=partitions), pos


def _write_write_state_result_v0(out: bytearray, message: WriteStateResult) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_result_v0(out, partitions_item)
    out.append(0)


def _read_write_share_group_state_response_v0(buf: Buffer, pos: int) -> tuple[WriteShareGroupStateResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    results: list[WriteStateResult] = []
    for _ in range(count):
        results_item, pos = _read_write_state_result_v0(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return WriteShareGroupStateResponse(results=results), pos


def _write_write_share_group_state_response_v0(out: bytearray, message: WriteShareGroupStateResponse) -> None:
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_write_state_result_v0(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[WriteShareGroupStateResponse, int]], ...]] = (
    _read_write_share_group_state_response_v0,
    _read_write_share_group_state_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, WriteShareGroupStateResponse], None], ...]] = (
    _write_write_share_group_state_response_v0,
    _write_write_share_group_state_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> WriteShareGroupStateResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("WriteShareGroupStateResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("WriteShareGroupStateResponse is cut short") from error


def encode_response_into(out: bytearray, message: WriteShareGroupStateResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("WriteShareGroupStateResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"WriteShareGroupStateResponse holds a value out of range: {error}") from error


def encode_response(message: WriteShareGroupStateResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
