"""DeleteShareGroupStateRequest and DeleteShareGroupStateResponse.

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

API_KEY: Final = 86
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_u: Final = struct.Struct(">16s")


class PartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0


class DeleteStateData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []


class DeleteShareGroupStateRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[DeleteStateData] = []


class PartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    error_code: int = 0
    error_message: str | None = None


class DeleteStateResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionResult] = []


class DeleteShareGroupStateResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    results: list[DeleteStateResult] = []


def _read_partition_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[PartitionData, int]:
    partition = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return PartitionData(partition=partition), pos


def _write_partition_data_v0(out: bytearray, message: PartitionData) -> None:
    out += _PACKED_i.pack(message.partition)
    out.append(0)


def _read_delete_state_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteStateData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteStateData(topic_id=topic_id, partitions=partitions), pos


def _write_delete_state_data_v0(out: bytearray, message: DeleteStateData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_delete_share_group_state_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteShareGroupStateRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[DeleteStateData] = []
    for _ in range(count):
        topics_item, pos = _read_delete_state_data_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteShareGroupStateRequest(group_id=group_id, topics=topics), pos


def _write_delete_share_group_state_request_v0(out: bytearray, message: DeleteShareGroupStateRequest) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_delete_state_data_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DeleteShareGroupStateRequest, int]], ...]] = (
    _read_delete_share_group_state_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DeleteShareGroupStateRequest], None], ...]] = (
    _write_delete_share_group_state_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DeleteShareGroupStateRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupStateRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteShareGroupStateRequest is cut short") from error


def encode_request_into(out: bytearray, message: DeleteShareGroupStateRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupStateRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteShareGroupStateRequest holds a value out of range: {error}") from error


def encode_request(message: DeleteShareGroupStateRequest, version: int) -> bytes:
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


def _read_delete_state_result_v0(buf: Buffer, pos: int) -> tuple[DeleteStateResult, int]:
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
    return DeleteStateResult(topic_id=topic_id, partitions=partitions), pos


def _write_delete_state_result_v0(out: bytearray, message: DeleteStateResult) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_result_v0(out, partitions_item)
    out.append(0)


def _read_delete_share_group_state_response_v0(buf: Buffer, pos: int) -> tuple[DeleteShareGroupStateResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    results: list[DeleteStateResult] = []
    for _ in range(count):
        results_item, pos = _read_delete_state_result_v0(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteShareGroupStateResponse(results=results), pos


def _write_delete_share_group_state_response_v0(out: bytearray, message: DeleteShareGroupStateResponse) -> None:
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_delete_state_result_v0(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DeleteShareGroupStateResponse, int]], ...]] = (
    _read_delete_share_group_state_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DeleteShareGroupStateResponse], None], ...]] = (
    _write_delete_share_group_state_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DeleteShareGroupStateResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupStateResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteShareGroupStateResponse is cut short") from error


def encode_response_into(out: bytearray, message: DeleteShareGroupStateResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupStateResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteShareGroupStateResponse holds a value out of range: {error}") from error


def encode_response(message: DeleteShareGroupStateResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
