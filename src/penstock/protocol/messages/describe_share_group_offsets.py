"""DescribeShareGroupOffsetsRequest and DescribeShareGroupOffsetsResponse.

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
    read_compact_nullable_array_length,
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

API_KEY: Final = 90
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_iqih: Final = struct.Struct(">iqih")
_PACKED_iqiqh: Final = struct.Struct(">iqiqh")
_PACKED_u: Final = struct.Struct(">16s")


class DescribeShareGroupOffsetsRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[int] = []


class DescribeShareGroupOffsetsRequestGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = []


class DescribeShareGroupOffsetsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = []


class DescribeShareGroupOffsetsResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    start_offset: int = 0
    leader_epoch: int = 0
    lag: int = -1
    error_code: int = 0
    error_message: str | None = None


class DescribeShareGroupOffsetsResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []


class DescribeShareGroupOffsetsResponseGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    error_code: int = 0
    error_message: str | None = None


class DescribeShareGroupOffsetsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []


def _read_describe_share_group_offsets_request_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeShareGroupOffsetsRequestTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeShareGroupOffsetsRequestTopic(topic_name=topic_name, partitions=partitions), pos


def _write_describe_share_group_offsets_request_topic_v0(out: bytearray, message: DescribeShareGroupOffsetsRequestTopic) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_describe_share_group_offsets_request_group_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeShareGroupOffsetsRequestGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_describe_share_group_offsets_request_topic_v0(buf, pos, budget)
            topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=topics), pos


def _write_describe_share_group_offsets_request_group_v0(out: bytearray, message: DescribeShareGroupOffsetsRequestGroup) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_describe_share_group_offsets_request_topic_v0(out, topics_item)
    out.append(0)


def _read_describe_share_group_offsets_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeShareGroupOffsetsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    groups: list[DescribeShareGroupOffsetsRequestGroup] = []
    for _ in range(count):
        groups_item, pos = _read_describe_share_group_offsets_request_group_v0(buf, pos, budget)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeShareGroupOffsetsRequest(groups=groups), pos


def _write_describe_share_group_offsets_request_v0(out: bytearray, message: DescribeShareGroupOffsetsRequest) -> None:
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_describe_share_group_offsets_request_group_v0(out, groups_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeShareGroupOffsetsRequest, int]], ...]] = (
    _read_describe_share_group_offsets_request_v0,
    _read_describe_share_group_offsets_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeShareGroupOffsetsRequest], None], ...]] = (
    _write_describe_share_group_offsets_request_v0,
    _write_describe_share_group_offsets_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeShareGroupOffsetsRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeShareGroupOffsetsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeShareGroupOffsetsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeShareGroupOffsetsRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeShareGroupOffsetsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeShareGroupOffsetsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeShareGroupOffsetsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_describe_share_group_offsets_response_partition_v0(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
    partition_index, start_offset, leader_epoch, error_code = _PACKED_iqih.unpack_from(buf, pos)
    pos += 18
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition_index,
        start_offset=start_offset,
        leader_epoch=leader_epoch,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_describe_share_group_offsets_response_partition_v0(out: bytearray, message: DescribeShareGroupOffsetsResponsePartition) -> None:
    out += _PACKED_iqih.pack(message.partition_index, message.start_offset, message.leader_epoch, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_describe_share_group_offsets_response_partition_v1(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
    partition_index, start_offset, leader_epoch, lag, error_code = _PACKED_iqiqh.unpack_from(buf, pos)
    pos += 26
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeShareGroupOffsetsResponsePartition(
        partition_index=partition_index,
        start_offset=start_offset,
        leader_epoch=leader_epoch,
        lag=lag,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_describe_share_group_offsets_response_partition_v1(out: bytearray, message: DescribeShareGroupOffsetsResponsePartition) -> None:
    out += _PACKED_iqiqh.pack(message.partition_index, message.start_offset, message.leader_epoch, message.lag, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_describe_share_group_offsets_response_topic_v0(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 20)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_describe_share_group_offsets_response_partition_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic_name,
        topic_id=topic_id,
        partitions=partitions,
    )
    return value, pos


def _write_describe_share_group_offsets_response_topic_v0(out: bytearray, message: DescribeShareGroupOffsetsResponseTopic) -> None:
    write_compact_string(out, message.topic_name)
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_describe_share_group_offsets_response_partition_v0(out, partitions_item)
    out.append(0)


def _read_describe_share_group_offsets_response_topic_v1(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 28)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_describe_share_group_offsets_response_partition_v1(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic_name,
        topic_id=topic_id,
        partitions=partitions,
    )
    return value, pos


def _write_describe_share_group_offsets_response_topic_v1(out: bytearray, message: DescribeShareGroupOffsetsResponseTopic) -> None:
    write_compact_string(out, message.topic_name)
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_describe_share_group_offsets_response_partition_v1(out, partitions_item)
    out.append(0)


def _read_describe_share_group_offsets_response_group_v0(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 19)
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_describe_share_group_offsets_response_topic_v0(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id,
        topics=topics,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_describe_share_group_offsets_response_group_v0(out: bytearray, message: DescribeShareGroupOffsetsResponseGroup) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_describe_share_group_offsets_response_topic_v0(out, topics_item)
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_describe_share_group_offsets_response_group_v1(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 19)
    topics: list[DescribeShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_describe_share_group_offsets_response_topic_v1(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeShareGroupOffsetsResponseGroup(
        group_id=group_id,
        topics=topics,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_describe_share_group_offsets_response_group_v1(out: bytearray, message: DescribeShareGroupOffsetsResponseGroup) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_describe_share_group_offsets_response_topic_v1(out, topics_item)
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_describe_share_group_offsets_response_v0(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 6)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
    for _ in range(count):
        groups_item, pos = _read_describe_share_group_offsets_response_group_v0(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeShareGroupOffsetsResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_describe_share_group_offsets_response_v0(out: bytearray, message: DescribeShareGroupOffsetsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_describe_share_group_offsets_response_group_v0(out, groups_item)
    out.append(0)


def _read_describe_share_group_offsets_response_v1(buf: Buffer, pos: int) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 6)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = []
    for _ in range(count):
        groups_item, pos = _read_describe_share_group_offsets_response_group_v1(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeShareGroupOffsetsResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_describe_share_group_offsets_response_v1(out: bytearray, message: DescribeShareGroupOffsetsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_describe_share_group_offsets_response_group_v1(out, groups_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeShareGroupOffsetsResponse, int]], ...]] = (
    _read_describe_share_group_offsets_response_v0,
    _read_describe_share_group_offsets_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeShareGroupOffsetsResponse], None], ...]] = (
    _write_describe_share_group_offsets_response_v0,
    _write_describe_share_group_offsets_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeShareGroupOffsetsResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeShareGroupOffsetsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeShareGroupOffsetsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeShareGroupOffsetsResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeShareGroupOffsetsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeShareGroupOffsetsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeShareGroupOffsetsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
