"""AlterShareGroupOffsetsRequest and AlterShareGroupOffsetsResponse.

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

API_KEY: Final = 91
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_u: Final = struct.Struct(">16s")


class AlterShareGroupOffsetsRequestPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    start_offset: int = 0


class AlterShareGroupOffsetsRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []


class AlterShareGroupOffsetsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[AlterShareGroupOffsetsRequestTopic] = []


class AlterShareGroupOffsetsResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None


class AlterShareGroupOffsetsResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []


class AlterShareGroupOffsetsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic] = []


def _read_alter_share_group_offsets_request_partition_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterShareGroupOffsetsRequestPartition, int]:
    partition_index, start_offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AlterShareGroupOffsetsRequestPartition(
        partition_index=partition_index,
        start_offset=start_offset,
    )
    return value, pos


def _write_alter_share_group_offsets_request_partition_v0(out: bytearray, message: AlterShareGroupOffsetsRequestPartition) -> None:
    out += _PACKED_iq.pack(message.partition_index, message.start_offset)
    out.append(0)


def _read_alter_share_group_offsets_request_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterShareGroupOffsetsRequestTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 13)
    budget.take(count)
    partitions: list[AlterShareGroupOffsetsRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_alter_share_group_offsets_request_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterShareGroupOffsetsRequestTopic(topic_name=topic_name, partitions=partitions), pos


def _write_alter_share_group_offsets_request_topic_v0(out: bytearray, message: AlterShareGroupOffsetsRequestTopic) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_alter_share_group_offsets_request_partition_v0(out, partitions_item)
    out.append(0)


def _read_alter_share_group_offsets_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterShareGroupOffsetsRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[AlterShareGroupOffsetsRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_alter_share_group_offsets_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics), pos


def _write_alter_share_group_offsets_request_v0(out: bytearray, message: AlterShareGroupOffsetsRequest) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_alter_share_group_offsets_request_topic_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AlterShareGroupOffsetsRequest, int]], ...]] = (
    _read_alter_share_group_offsets_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AlterShareGroupOffsetsRequest], None], ...]] = (
    _write_alter_share_group_offsets_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AlterShareGroupOffsetsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterShareGroupOffsetsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterShareGroupOffsetsRequest is cut short") from error


def encode_request_into(out: bytearray, message: AlterShareGroupOffsetsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterShareGroupOffsetsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterShareGroupOffsetsRequest holds a value out of range: {error}") from error


def encode_request(message: AlterShareGroupOffsetsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_alter_share_group_offsets_response_partition_v0(buf: Buffer, pos: int) -> tuple[AlterShareGroupOffsetsResponsePartition, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterShareGroupOffsetsResponsePartition(
        partition_index=partition_index,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_alter_share_group_offsets_response_partition_v0(out: bytearray, message: AlterShareGroupOffsetsResponsePartition) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_alter_share_group_offsets_response_topic_v0(buf: Buffer, pos: int) -> tuple[AlterShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 8)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_alter_share_group_offsets_response_partition_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterShareGroupOffsetsResponseTopic(
        topic_name=topic_name,
        topic_id=topic_id,
        partitions=partitions,
    )
    return value, pos


def _write_alter_share_group_offsets_response_topic_v0(out: bytearray, message: AlterShareGroupOffsetsResponseTopic) -> None:
    write_compact_string(out, message.topic_name)
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_alter_share_group_offsets_response_partition_v0(out, partitions_item)
    out.append(0)


def _read_alter_share_group_offsets_response_v0(buf: Buffer, pos: int) -> tuple[AlterShareGroupOffsetsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 19)
    responses: list[AlterShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        responses_item, pos = _read_alter_share_group_offsets_response_topic_v0(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterShareGroupOffsetsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        responses=responses,
    )
    return value, pos


def _write_alter_share_group_offsets_response_v0(out: bytearray, message: AlterShareGroupOffsetsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_alter_share_group_offsets_response_topic_v0(out, responses_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AlterShareGroupOffsetsResponse, int]], ...]] = (
    _read_alter_share_group_offsets_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AlterShareGroupOffsetsResponse], None], ...]] = (
    _write_alter_share_group_offsets_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AlterShareGroupOffsetsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterShareGroupOffsetsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterShareGroupOffsetsResponse is cut short") from error


def encode_response_into(out: bytearray, message: AlterShareGroupOffsetsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AlterShareGroupOffsetsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterShareGroupOffsetsResponse holds a value out of range: {error}") from error


def encode_response(message: AlterShareGroupOffsetsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
