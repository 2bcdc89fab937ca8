"""WriteTxnMarkersRequest and WriteTxnMarkersResponse.

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
    read_compact_string,
    read_int32s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
)

API_KEY: Final = 27
VERSIONS: Final = range(1, 3)
FLEXIBLE_FROM: Final = 1

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ib: Final = struct.Struct(">ib")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_qho: Final = struct.Struct(">qh?")


class WritableTxnMarkerTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partition_indexes: list[int] = []


class WritableTxnMarker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: list[WritableTxnMarkerTopic] = []
    coordinator_epoch: int = 0
    transaction_version: int = 0


class WriteTxnMarkersRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    markers: list[WritableTxnMarker] = []


class WritableTxnMarkerPartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0


class WritableTxnMarkerTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[WritableTxnMarkerPartitionResult] = []


class WritableTxnMarkerResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    producer_id: int = 0
    topics: list[WritableTxnMarkerTopicResult] = []


class WriteTxnMarkersResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    markers: list[WritableTxnMarkerResult] = []


def _read_writable_txn_marker_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[WritableTxnMarkerTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partition_indexes, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return WritableTxnMarkerTopic(name=name, partition_indexes=partition_indexes), pos


def _write_writable_txn_marker_topic_v1(out: bytearray, message: WritableTxnMarkerTopic) -> None:
    write_compact_string(out, message.name)
    partition_indexes = message.partition_indexes
    write_compact_array_length(out, len(partition_indexes))
    write_int32s(out, partition_indexes)
    out.append(0)


def _read_writable_txn_marker_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[WritableTxnMarker, int]:
    producer_id, producer_epoch, transaction_result = _PACKED_qho.unpack_from(buf, pos)
    pos += 11
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[WritableTxnMarkerTopic] = []
    for _ in range(count):
        topics_item, pos = _read_writable_txn_marker_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    coordinator_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_result=transaction_result,
        topics=topics,
        coordinator_epoch=coordinator_epoch,
    )
    return value, pos


def _write_writable_txn_marker_v1(out: bytearray, message: WritableTxnMarker) -> None:
    out += _PACKED_qho.pack(message.producer_id, message.producer_epoch, message.transaction_result)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_writable_txn_marker_topic_v1(out, topics_item)
    out += _PACKED_i.pack(message.coordinator_epoch)
    out.append(0)


def _read_writable_txn_marker_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[WritableTxnMarker, int]:
    producer_id, producer_epoch, transaction_result = _PACKED_qho.unpack_from(buf, pos)
    pos += 11
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[WritableTxnMarkerTopic] = []
    for _ in range(count):
        topics_item, pos = _read_writable_txn_marker_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    coordinator_epoch, transaction_version = _PACKED_ib.unpack_from(buf, pos)
    pos += 5
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_result=transaction_result,
        topics=topics,
        coordinator_epoch=coordinator_epoch,
        transaction_version=transaction_version,
    )
    return value, pos


def _write_writable_txn_marker_v2(out: bytearray, message: WritableTxnMarker) -> None:
    out += _PACKED_qho.pack(message.producer_id, message.producer_epoch, message.transaction_result)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_writable_txn_marker_topic_v1(out, topics_item)
    out += _PACKED_ib.pack(message.coordinator_epoch, message.transaction_version)
    out.append(0)


def _read_write_txn_markers_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[WriteTxnMarkersRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 17)
    budget.take(count)
    markers: list[WritableTxnMarker] = []
    for _ in range(count):
        markers_item, pos = _read_writable_txn_marker_v1(buf, pos, budget)
        markers.append(markers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return WriteTxnMarkersRequest(markers=markers), pos


def _write_write_txn_markers_request_v1(out: bytearray, message: WriteTxnMarkersRequest) -> None:
    markers = message.markers
    write_compact_array_length(out, len(markers))
    for markers_item in markers:
        _write_writable_txn_marker_v1(out, markers_item)
    out.append(0)


def _read_write_txn_markers_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[WriteTxnMarkersRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    markers: list[WritableTxnMarker] = []
    for _ in range(count):
        markers_item, pos = _read_writable_txn_marker_v2(buf, pos, budget)
        markers.append(markers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return WriteTxnMarkersRequest(markers=markers), pos


def _write_write_txn_markers_request_v2(out: bytearray, message: WriteTxnMarkersRequest) -> None:
    markers = message.markers
    write_compact_array_length(out, len(markers))
    for markers_item in markers:
        _write_writable_txn_marker_v2(out, markers_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[WriteTxnMarkersRequest, int]], ...]] = (
    _read_write_txn_markers_request_v1,
    _read_write_txn_markers_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, WriteTxnMarkersRequest], None], ...]] = (
    _write_write_txn_markers_request_v1,
    _write_write_txn_markers_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> WriteTxnMarkersRequest:
    if not 1 <= version <= 2:
        raise unsupported_version("WriteTxnMarkersRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("WriteTxnMarkersRequest is cut short") from error


def encode_request_into(out: bytearray, message: WriteTxnMarkersRequest, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("WriteTxnMarkersRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"WriteTxnMarkersRequest holds a value out of range: {error}") from error


def encode_request(message: WriteTxnMarkersRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_writable_txn_marker_partition_result_v1(buf: Buffer, pos: int) -> tuple[WritableTxnMarkerPartitionResult, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return WritableTxnMarkerPartitionResult(partition_index=partition_index, error_code=error_code), pos


def _write_writable_txn_marker_partition_result_v1(out: bytearray, message: WritableTxnMarkerPartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    out.append(0)


def _read_writable_txn_marker_topic_result_v1(buf: Buffer, pos: int) -> tuple[WritableTxnMarkerTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 7)
    partitions: list[WritableTxnMarkerPartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_writable_txn_marker_partition_result_v1(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return WritableTxnMarkerTopicResult(name=name, partitions=partitions), pos


def _write_writable_txn_marker_topic_result_v1(out: bytearray, message: WritableTxnMarkerTopicResult) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_writable_txn_marker_partition_result_v1(out, partitions_item)
    out.append(0)


def _read_writable_txn_marker_result_v1(buf: Buffer, pos: int) -> tuple[WritableTxnMarkerResult, int]:
    producer_id = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[WritableTxnMarkerTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_writable_txn_marker_topic_result_v1(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return WritableTxnMarkerResult(producer_id=producer_id, topics=topics), pos


def _write_writable_txn_marker_result_v1(out: bytearray, message: WritableTxnMarkerResult) -> None:
    out += _PACKED_q.pack(message.producer_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_writable_txn_marker_topic_result_v1(out, topics_item)
    out.append(0)


def _read_write_txn_markers_response_v1(buf: Buffer, pos: int) -> tuple[WriteTxnMarkersResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 10)
    markers: list[WritableTxnMarkerResult] = []
    for _ in range(count):
        markers_item, pos = _read_writable_txn_marker_result_v1(buf, pos)
        markers.append(markers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return WriteTxnMarkersResponse(markers=markers), pos


def _write_write_txn_markers_response_v1(out: bytearray, message: WriteTxnMarkersResponse) -> None:
    markers = message.markers
    write_compact_array_length(out, len(markers))
    for markers_item in markers:
        _write_writable_txn_marker_result_v1(out, markers_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[WriteTxnMarkersResponse, int]], ...]] = (
    _read_write_txn_markers_response_v1,
    _read_write_txn_markers_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, WriteTxnMarkersResponse], None], ...]] = (
    _write_write_txn_markers_response_v1,
    _write_write_txn_markers_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> WriteTxnMarkersResponse:
    if not 1 <= version <= 2:
        raise unsupported_version("WriteTxnMarkersResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("WriteTxnMarkersResponse is cut short") from error


def encode_response_into(out: bytearray, message: WriteTxnMarkersResponse, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("WriteTxnMarkersResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"WriteTxnMarkersResponse holds a value out of range: {error}") from error


def encode_response(message: WriteTxnMarkersResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
