"""ListOffsetsRequest and ListOffsetsResponse.

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
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_string,
)

API_KEY: Final = 2
VERSIONS: Final = range(1, 12)
FLEXIBLE_FROM: Final = 6

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ib: Final = struct.Struct(">ib")
_PACKED_ihqq: Final = struct.Struct(">ihqq")
_PACKED_ihqqi: Final = struct.Struct(">ihqqi")
_PACKED_iiq: Final = struct.Struct(">iiq")
_PACKED_iq: Final = struct.Struct(">iq")


class ListOffsetsPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    current_leader_epoch: int = -1
    timestamp: int = 0


class ListOffsetsTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[ListOffsetsPartition] = []


class ListOffsetsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    replica_id: int = 0
    isolation_level: int = 0
    topics: list[ListOffsetsTopic] = []
    timeout_ms: int = 0


class ListOffsetsPartitionResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


class ListOffsetsTopicResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = []


class ListOffsetsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[ListOffsetsTopicResponse] = []


def _read_list_offsets_partition_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsPartition, int]:
    partition_index, timestamp = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    return ListOffsetsPartition(partition_index=partition_index, timestamp=timestamp), pos


def _write_list_offsets_partition_v1(out: bytearray, message: ListOffsetsPartition) -> None:
    out += _PACKED_iq.pack(message.partition_index, message.timestamp)


def _read_list_offsets_partition_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsPartition, int]:
    partition_index, current_leader_epoch, timestamp = _PACKED_iiq.unpack_from(buf, pos)
    pos += 16
    value = ListOffsetsPartition(
        partition_index=partition_index,
        current_leader_epoch=current_leader_epoch,
        timestamp=timestamp,
    )
    return value, pos


def _write_list_offsets_partition_v4(out: bytearray, message: ListOffsetsPartition) -> None:
    out += _PACKED_iiq.pack(message.partition_index, message.current_leader_epoch, message.timestamp)


def _read_list_offsets_partition_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsPartition, int]:
    partition_index, current_leader_epoch, timestamp = _PACKED_iiq.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ListOffsetsPartition(
        partition_index=partition_index,
        current_leader_epoch=current_leader_epoch,
        timestamp=timestamp,
    )
    return value, pos


def _write_list_offsets_partition_v6(out: bytearray, message: ListOffsetsPartition) -> None:
    out += _PACKED_iiq.pack(message.partition_index, message.current_leader_epoch, message.timestamp)
    out.append(0)


def _read_list_offsets_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 12)
    budget.take(count)
    partitions: list[ListOffsetsPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_list_offsets_partition_v1(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopic(name=name, partitions=partitions), pos


def _write_list_offsets_topic_v1(out: bytearray, message: ListOffsetsTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_list_offsets_partition_v1(out, partitions_item)


def _read_list_offsets_topic_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 16)
    budget.take(count)
    partitions: list[ListOffsetsPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_list_offsets_partition_v4(buf, pos, budget)
        partitions.append(partitions_item)
    return ListOffsetsTopic(name=name, partitions=partitions), pos


def _write_list_offsets_topic_v4(out: bytearray, message: ListOffsetsTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_list_offsets_partition_v4(out, partitions_item)


def _read_list_offsets_topic_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 17)
    budget.take(count)
    partitions: list[ListOffsetsPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_list_offsets_partition_v6(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListOffsetsTopic(name=name, partitions=partitions), pos


def _write_list_offsets_topic_v6(out: bytearray, message: ListOffsetsTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_list_offsets_partition_v6(out, partitions_item)
    out.append(0)


def _read_list_offsets_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[ListOffsetsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return ListOffsetsRequest(replica_id=replica_id, topics=topics), pos


def _write_list_offsets_request_v1(out: bytearray, message: ListOffsetsRequest) -> None:
    if message.isolation_level != 0:
        raise unsupported_field("ListOffsetsRequest.isolation_level", 1, 1)
    out += _PACKED_i.pack(message.replica_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_v1(out, topics_item)


def _read_list_offsets_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, isolation_level = _PACKED_ib.unpack_from(buf, pos)
    pos += 5
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[ListOffsetsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    value = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=topics,
    )
    return value, pos


def _write_list_offsets_request_v2(out: bytearray, message: ListOffsetsRequest) -> None:
    out += _PACKED_ib.pack(message.replica_id, message.isolation_level)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_v1(out, topics_item)


def _read_list_offsets_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, isolation_level = _PACKED_ib.unpack_from(buf, pos)
    pos += 5
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[ListOffsetsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_v4(buf, pos, budget)
        topics.append(topics_item)
    value = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=topics,
    )
    return value, pos


def _write_list_offsets_request_v4(out: bytearray, message: ListOffsetsRequest) -> None:
    out += _PACKED_ib.pack(message.replica_id, message.isolation_level)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_v4(out, topics_item)


def _read_list_offsets_request_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, isolation_level = _PACKED_ib.unpack_from(buf, pos)
    pos += 5
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[ListOffsetsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_v6(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=topics,
    )
    return value, pos


def _write_list_offsets_request_v6(out: bytearray, message: ListOffsetsRequest) -> None:
    out += _PACKED_ib.pack(message.replica_id, message.isolation_level)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_v6(out, topics_item)
    out.append(0)


def _read_list_offsets_request_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[ListOffsetsRequest, int]:
    replica_id, isolation_level = _PACKED_ib.unpack_from(buf, pos)
    pos += 5
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[ListOffsetsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_v6(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation_level,
        topics=topics,
        timeout_ms=timeout_ms,
    )
    return value, pos


def _write_list_offsets_request_v10(out: bytearray, message: ListOffsetsRequest) -> None:
    out += _PACKED_ib.pack(message.replica_id, message.isolation_level)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_v6(out, topics_item)
    out += _PACKED_i.pack(message.timeout_ms)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ListOffsetsRequest, int]], ...]] = (
    _read_list_offsets_request_v1,
    _read_list_offsets_request_v2,
    _read_list_offsets_request_v2,
    _read_list_offsets_request_v4,
    _read_list_offsets_request_v4,
    _read_list_offsets_request_v6,
    _read_list_offsets_request_v6,
    _read_list_offsets_request_v6,
    _read_list_offsets_request_v6,
    _read_list_offsets_request_v10,
    _read_list_offsets_request_v10,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ListOffsetsRequest], None], ...]] = (
    _write_list_offsets_request_v1,
    _write_list_offsets_request_v2,
    _write_list_offsets_request_v2,
    _write_list_offsets_request_v4,
    _write_list_offsets_request_v4,
    _write_list_offsets_request_v6,
    _write_list_offsets_request_v6,
    _write_list_offsets_request_v6,
    _write_list_offsets_request_v6,
    _write_list_offsets_request_v10,
    _write_list_offsets_request_v10,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ListOffsetsRequest:
    if not 1 <= version <= 11:
        raise unsupported_version("ListOffsetsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListOffsetsRequest is cut short") from error


def encode_request_into(out: bytearray, message: ListOffsetsRequest, version: int) -> None:
    if not 1 <= version <= 11:
        raise unsupported_version("ListOffsetsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListOffsetsRequest holds a value out of range: {error}") from error


def encode_request(message: ListOffsetsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_list_offsets_partition_response_v1(buf: Buffer, pos: int) -> tuple[ListOffsetsPartitionResponse, int]:
    partition_index, error_code, timestamp, offset = _PACKED_ihqq.unpack_from(buf, pos)
    pos += 22
    value = ListOffsetsPartitionResponse(
        partition_index=partition_index,
        error_code=error_code,
        timestamp=timestamp,
        offset=offset,
    )
    return value, pos


def _write_list_offsets_partition_response_v1(out: bytearray, message: ListOffsetsPartitionResponse) -> None:
    if message.leader_epoch != -1:
        raise unsupported_field("ListOffsetsPartitionResponse.leader_epoch", 1, 3)
    out += _PACKED_ihqq.pack(message.partition_index, message.error_code, message.timestamp, message.offset)


def _read_list_offsets_partition_response_v4(buf: Buffer, pos: int) -> tuple[ListOffsetsPartitionResponse, int]:
    partition_index, error_code, timestamp, offset, leader_epoch = _PACKED_ihqqi.unpack_from(buf, pos)
    pos += 26
    value = ListOffsetsPartitionResponse(
        partition_index=partition_index,
        error_code=error_code,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_list_offsets_partition_response_v4(out: bytearray, message: ListOffsetsPartitionResponse) -> None:
    out += _PACKED_ihqqi.pack(message.partition_index, message.error_code, message.timestamp, message.offset, message.leader_epoch)


def _read_list_offsets_partition_response_v6(buf: Buffer, pos: int) -> tuple[ListOffsetsPartitionResponse, int]:
    partition_index, error_code, timestamp, offset, leader_epoch = _PACKED_ihqqi.unpack_from(buf, pos)
    pos += 26
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListOffsetsPartitionResponse(
        partition_index=partition_index,
        error_code=error_code,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_list_offsets_partition_response_v6(out: bytearray, message: ListOffsetsPartitionResponse) -> None:
    out += _PACKED_ihqqi.pack(message.partition_index, message.error_code, message.timestamp, message.offset, message.leader_epoch)
    out.append(0)


def _read_list_offsets_topic_response_v1(buf: Buffer, pos: int) -> tuple[ListOffsetsTopicResponse, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 22)
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        partitions_item, pos = _read_list_offsets_partition_response_v1(buf, pos)
        partitions.append(partitions_item)
    return ListOffsetsTopicResponse(name=name, partitions=partitions), pos


def _write_list_offsets_topic_response_v1(out: bytearray, message: ListOffsetsTopicResponse) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_list_offsets_partition_response_v1(out, partitions_item)


def _read_list_offsets_topic_response_v4(buf: Buffer, pos: int) -> tuple[ListOffsetsTopicResponse, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 26)
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        partitions_item, pos = _read_list_offsets_partition_response_v4(buf, pos)
        partitions.append(partitions_item)
    return ListOffsetsTopicResponse(name=name, partitions=partitions), pos


def _write_list_offsets_topic_response_v4(out: bytearray, message: ListOffsetsTopicResponse) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_list_offsets_partition_response_v4(out, partitions_item)


def _read_list_offsets_topic_response_v6(buf: Buffer, pos: int) -> tuple[ListOffsetsTopicResponse, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 27)
    partitions: list[ListOffsetsPartitionResponse] = []
    for _ in range(count):
        partitions_item, pos = _read_list_offsets_partition_response_v6(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ListOffsetsTopicResponse(name=name, partitions=partitions), pos


def _write_list_offsets_topic_response_v6(out: bytearray, message: ListOffsetsTopicResponse) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_list_offsets_partition_response_v6(out, partitions_item)
    out.append(0)


def _read_list_offsets_response_v1(buf: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    count, pos = read_array_length(buf, pos, 6)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_response_v1(buf, pos)
        topics.append(topics_item)
    return ListOffsetsResponse(topics=topics), pos


def _write_list_offsets_response_v1(out: bytearray, message: ListOffsetsResponse) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_response_v1(out, topics_item)


def _read_list_offsets_response_v2(buf: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_response_v1(buf, pos)
        topics.append(topics_item)
    return ListOffsetsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_list_offsets_response_v2(out: bytearray, message: ListOffsetsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_response_v1(out, topics_item)


def _read_list_offsets_response_v4(buf: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_response_v4(buf, pos)
        topics.append(topics_item)
    return ListOffsetsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_list_offsets_response_v4(out: bytearray, message: ListOffsetsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_response_v4(out, topics_item)


def _read_list_offsets_response_v6(buf: Buffer, pos: int) -> tuple[ListOffsetsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ListOffsetsTopicResponse] = []
    for _ in range(count):
        topics_item, pos = _read_list_offsets_topic_response_v6(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ListOffsetsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_list_offsets_response_v6(out: bytearray, message: ListOffsetsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_list_offsets_topic_response_v6(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ListOffsetsResponse, int]], ...]] = (
    _read_list_offsets_response_v1,
    _read_list_offsets_response_v2,
    _read_list_offsets_response_v2,
    _read_list_offsets_response_v4,
    _read_list_offsets_response_v4,
    _read_list_offsets_response_v6,
    _read_list_offsets_response_v6,
    _read_list_offsets_response_v6,
    _read_list_offsets_response_v6,
    _read_list_offsets_response_v6,
    _read_list_offsets_response_v6,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ListOffsetsResponse], None], ...]] = (
    _write_list_offsets_response_v1,
    _write_list_offsets_response_v2,
    _write_list_offsets_response_v2,
    _write_list_offsets_response_v4,
    _write_list_offsets_response_v4,
    _write_list_offsets_response_v6,
    _write_list_offsets_response_v6,
    _write_list_offsets_response_v6,
    _write_list_offsets_response_v6,
    _write_list_offsets_response_v6,
    _write_list_offsets_response_v6,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ListOffsetsResponse:
    if not 1 <= version <= 11:
        raise unsupported_version("ListOffsetsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListOffsetsResponse is cut short") from error


def encode_response_into(out: bytearray, message: ListOffsetsResponse, version: int) -> None:
    if not 1 <= version <= 11:
        raise unsupported_version("ListOffsetsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListOffsetsResponse holds a value out of range: {error}") from error


def encode_response(message: ListOffsetsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
