"""OffsetForLeaderEpochRequest and OffsetForLeaderEpochResponse.

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

API_KEY: Final = 23
VERSIONS: Final = range(2, 5)
FLEXIBLE_FROM: Final = 4

_PACKED_hiiq: Final = struct.Struct(">hiiq")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_iii: Final = struct.Struct(">iii")


class OffsetForLeaderPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    current_leader_epoch: int = -1
    leader_epoch: int = 0


class OffsetForLeaderTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = []


class OffsetForLeaderEpochRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    replica_id: int = -2
    topics: list[OffsetForLeaderTopic] = []


class EpochEndOffset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    partition: int = 0
    leader_epoch: int = -1
    end_offset: int = -1


class OffsetForLeaderTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[EpochEndOffset] = []


class OffsetForLeaderEpochResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderTopicResult] = []


def _read_offset_for_leader_partition_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetForLeaderPartition, int]:
    partition, current_leader_epoch, leader_epoch = _PACKED_iii.unpack_from(buf, pos)
    pos += 12
    value = OffsetForLeaderPartition(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_offset_for_leader_partition_v2(out: bytearray, message: OffsetForLeaderPartition) -> None:
    out += _PACKED_iii.pack(message.partition, message.current_leader_epoch, message.leader_epoch)


def _read_offset_for_leader_partition_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetForLeaderPartition, int]:
    partition, current_leader_epoch, leader_epoch = _PACKED_iii.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = OffsetForLeaderPartition(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_offset_for_leader_partition_v4(out: bytearray, message: OffsetForLeaderPartition) -> None:
    out += _PACKED_iii.pack(message.partition, message.current_leader_epoch, message.leader_epoch)
    out.append(0)


def _read_offset_for_leader_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetForLeaderTopic, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 12)
    budget.take(count)
    partitions: list[OffsetForLeaderPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_for_leader_partition_v2(buf, pos, budget)
        partitions.append(partitions_item)
    return OffsetForLeaderTopic(topic=topic, partitions=partitions), pos


def _write_offset_for_leader_topic_v2(out: bytearray, message: OffsetForLeaderTopic) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_for_leader_partition_v2(out, partitions_item)


def _read_offset_for_leader_topic_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetForLeaderTopic, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 13)
    budget.take(count)
    partitions: list[OffsetForLeaderPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_for_leader_partition_v4(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetForLeaderTopic(topic=topic, partitions=partitions), pos


def _write_offset_for_leader_topic_v4(out: bytearray, message: OffsetForLeaderTopic) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_for_leader_partition_v4(out, partitions_item)
    out.append(0)


def _read_offset_for_leader_epoch_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetForLeaderEpochRequest, int]:
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_for_leader_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochRequest(topics=topics), pos


def _write_offset_for_leader_epoch_request_v2(out: bytearray, message: OffsetForLeaderEpochRequest) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_for_leader_topic_v2(out, topics_item)


def _read_offset_for_leader_epoch_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetForLeaderEpochRequest, int]:
    replica_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_for_leader_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    return OffsetForLeaderEpochRequest(replica_id=replica_id, topics=topics), pos


def _write_offset_for_leader_epoch_request_v3(out: bytearray, message: OffsetForLeaderEpochRequest) -> None:
    out += _PACKED_i.pack(message.replica_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_for_leader_topic_v2(out, topics_item)


def _read_offset_for_leader_epoch_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetForLeaderEpochRequest, int]:
    replica_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[OffsetForLeaderTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_for_leader_topic_v4(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetForLeaderEpochRequest(replica_id=replica_id, topics=topics), pos


def _write_offset_for_leader_epoch_request_v4(out: bytearray, message: OffsetForLeaderEpochRequest) -> None:
    out += _PACKED_i.pack(message.replica_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_for_leader_topic_v4(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[OffsetForLeaderEpochRequest, int]], ...]] = (
    _read_offset_for_leader_epoch_request_v2,
    _read_offset_for_leader_epoch_request_v3,
    _read_offset_for_leader_epoch_request_v4,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, OffsetForLeaderEpochRequest], None], ...]] = (
    _write_offset_for_leader_epoch_request_v2,
    _write_offset_for_leader_epoch_request_v3,
    _write_offset_for_leader_epoch_request_v4,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> OffsetForLeaderEpochRequest:
    if not 2 <= version <= 4:
        raise unsupported_version("OffsetForLeaderEpochRequest", version)
    try:
        return _REQUEST_READERS[version - 2](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetForLeaderEpochRequest is cut short") from error


def encode_request_into(out: bytearray, message: OffsetForLeaderEpochRequest, version: int) -> None:
    if not 2 <= version <= 4:
        raise unsupported_version("OffsetForLeaderEpochRequest", version)
    try:
        _REQUEST_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetForLeaderEpochRequest holds a value out of range: {error}") from error


def encode_request(message: OffsetForLeaderEpochRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_epoch_end_offset_v2(buf: Buffer, pos: int) -> tuple[EpochEndOffset, int]:
    error_code, partition, leader_epoch, end_offset = _PACKED_hiiq.unpack_from(buf, pos)
    pos += 18
    value = EpochEndOffset(
        error_code=error_code,
        partition=partition,
        leader_epoch=leader_epoch,
        end_offset=end_offset,
    )
    return value, pos


def _write_epoch_end_offset_v2(out: bytearray, message: EpochEndOffset) -> None:
    out += _PACKED_hiiq.pack(message.error_code, message.partition, message.leader_epoch, message.end_offset)


def _read_epoch_end_offset_v4(buf: Buffer, pos: int) -> tuple[EpochEndOffset, int]:
    error_code, partition, leader_epoch, end_offset = _PACKED_hiiq.unpack_from(buf, pos)
    pos += 18
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = EpochEndOffset(
        error_code=error_code,
        partition=partition,
        leader_epoch=leader_epoch,
        end_offset=end_offset,
    )
    return value, pos


def _write_epoch_end_offset_v4(out: bytearray, message: EpochEndOffset) -> None:
    out += _PACKED_hiiq.pack(message.error_code, message.partition, message.leader_epoch, message.end_offset)
    out.append(0)


def _read_offset_for_leader_topic_result_v2(buf: Buffer, pos: int) -> tuple[OffsetForLeaderTopicResult, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 18)
    partitions: list[EpochEndOffset] = []
    for _ in range(count):
        partitions_item, pos = _read_epoch_end_offset_v2(buf, pos)
        partitions.append(partitions_item)
    return OffsetForLeaderTopicResult(topic=topic, partitions=partitions), pos


def _write_offset_for_leader_topic_result_v2(out: bytearray, message: OffsetForLeaderTopicResult) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_epoch_end_offset_v2(out, partitions_item)


def _read_offset_for_leader_topic_result_v4(buf: Buffer, pos: int) -> tuple[OffsetForLeaderTopicResult, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 19)
    partitions: list[EpochEndOffset] = []
    for _ in range(count):
        partitions_item, pos = _read_epoch_end_offset_v4(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetForLeaderTopicResult(topic=topic, partitions=partitions), pos


def _write_offset_for_leader_topic_result_v4(out: bytearray, message: OffsetForLeaderTopicResult) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_epoch_end_offset_v4(out, partitions_item)
    out.append(0)


def _read_offset_for_leader_epoch_response_v2(buf: Buffer, pos: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetForLeaderTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_offset_for_leader_topic_result_v2(buf, pos)
        topics.append(topics_item)
    return OffsetForLeaderEpochResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_offset_for_leader_epoch_response_v2(out: bytearray, message: OffsetForLeaderEpochResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_for_leader_topic_result_v2(out, topics_item)


def _read_offset_for_leader_epoch_response_v4(buf: Buffer, pos: int) -> tuple[OffsetForLeaderEpochResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[OffsetForLeaderTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_offset_for_leader_topic_result_v4(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetForLeaderEpochResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_offset_for_leader_epoch_response_v4(out: bytearray, message: OffsetForLeaderEpochResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_for_leader_topic_result_v4(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[OffsetForLeaderEpochResponse, int]], ...]] = (
    _read_offset_for_leader_epoch_response_v2,
    _read_offset_for_leader_epoch_response_v2,
    _read_offset_for_leader_epoch_response_v4,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, OffsetForLeaderEpochResponse], None], ...]] = (
    _write_offset_for_leader_epoch_response_v2,
    _write_offset_for_leader_epoch_response_v2,
    _write_offset_for_leader_epoch_response_v4,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> OffsetForLeaderEpochResponse:
    if not 2 <= version <= 4:
        raise unsupported_version("OffsetForLeaderEpochResponse", version)
    try:
        return _RESPONSE_READERS[version - 2](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetForLeaderEpochResponse is cut short") from error


def encode_response_into(out: bytearray, message: OffsetForLeaderEpochResponse, version: int) -> None:
    if not 2 <= version <= 4:
        raise unsupported_version("OffsetForLeaderEpochResponse", version)
    try:
        _RESPONSE_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetForLeaderEpochResponse holds a value out of range: {error}") from error


def encode_response(message: OffsetForLeaderEpochResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
