"""OffsetDeleteRequest and OffsetDeleteResponse.

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
    read_string,
    unsupported_version,
    write_array_length,
    write_string,
)

API_KEY: Final = 47
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 32767

_PACKED_hi: Final = struct.Struct(">hi")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class OffsetDeleteRequestPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0


class OffsetDeleteRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = []


class OffsetDeleteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = []


class OffsetDeleteResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0


class OffsetDeleteResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = []


class OffsetDeleteResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponseTopic] = []


def _read_offset_delete_request_partition_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetDeleteRequestPartition, int]:
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return OffsetDeleteRequestPartition(partition_index=partition_index), pos


def _write_offset_delete_request_partition_v0(out: bytearray, message: OffsetDeleteRequestPartition) -> None:
    out += _PACKED_i.pack(message.partition_index)


def _read_offset_delete_request_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetDeleteRequestTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    partitions: list[OffsetDeleteRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_delete_request_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return OffsetDeleteRequestTopic(name=name, partitions=partitions), pos


def _write_offset_delete_request_topic_v0(out: bytearray, message: OffsetDeleteRequestTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_delete_request_partition_v0(out, partitions_item)


def _read_offset_delete_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetDeleteRequest, int]:
    group_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetDeleteRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_delete_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return OffsetDeleteRequest(group_id=group_id, topics=topics), pos


def _write_offset_delete_request_v0(out: bytearray, message: OffsetDeleteRequest) -> None:
    write_string(out, message.group_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_delete_request_topic_v0(out, topics_item)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[OffsetDeleteRequest, int]], ...]] = (
    _read_offset_delete_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, OffsetDeleteRequest], None], ...]] = (
    _write_offset_delete_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> OffsetDeleteRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("OffsetDeleteRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetDeleteRequest is cut short") from error


def encode_request_into(out: bytearray, message: OffsetDeleteRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("OffsetDeleteRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetDeleteRequest holds a value out of range: {error}") from error


def encode_request(message: OffsetDeleteRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_offset_delete_response_partition_v0(buf: Buffer, pos: int) -> tuple[OffsetDeleteResponsePartition, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    return OffsetDeleteResponsePartition(partition_index=partition_index, error_code=error_code), pos


def _write_offset_delete_response_partition_v0(out: bytearray, message: OffsetDeleteResponsePartition) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)


def _read_offset_delete_response_topic_v0(buf: Buffer, pos: int) -> tuple[OffsetDeleteResponseTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    partitions: list[OffsetDeleteResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_delete_response_partition_v0(buf, pos)
        partitions.append(partitions_item)
    return OffsetDeleteResponseTopic(name=name, partitions=partitions), pos


def _write_offset_delete_response_topic_v0(out: bytearray, message: OffsetDeleteResponseTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_delete_response_partition_v0(out, partitions_item)


def _read_offset_delete_response_v0(buf: Buffer, pos: int) -> tuple[OffsetDeleteResponse, int]:
    error_code, throttle_time_ms = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetDeleteResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_delete_response_topic_v0(buf, pos)
        topics.append(topics_item)
    value = OffsetDeleteResponse(
        error_code=error_code,
        throttle_time_ms=throttle_time_ms,
        topics=topics,
    )
    return value, pos


def _write_offset_delete_response_v0(out: bytearray, message: OffsetDeleteResponse) -> None:
    out += _PACKED_hi.pack(message.error_code, message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_delete_response_topic_v0(out, topics_item)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[OffsetDeleteResponse, int]], ...]] = (
    _read_offset_delete_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, OffsetDeleteResponse], None], ...]] = (
    _write_offset_delete_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> OffsetDeleteResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("OffsetDeleteResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetDeleteResponse is cut short") from error


def encode_response_into(out: bytearray, message: OffsetDeleteResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("OffsetDeleteResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetDeleteResponse holds a value out of range: {error}") from error


def encode_response(message: OffsetDeleteResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
