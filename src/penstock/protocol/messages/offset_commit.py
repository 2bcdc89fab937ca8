"""OffsetCommitRequest and OffsetCommitResponse.

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
    read_array_length,
    read_compact_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 8
VERSIONS: Final = range(2, 11)
FLEXIBLE_FROM: Final = 8

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_iqi: Final = struct.Struct(">iqi")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_u: Final = struct.Struct(">16s")


class OffsetCommitRequestPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""


class OffsetCommitRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetCommitRequestPartition] = []


class OffsetCommitRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: list[OffsetCommitRequestTopic] = []


class OffsetCommitResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0


class OffsetCommitResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetCommitResponsePartition] = []


class OffsetCommitResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponseTopic] = []


def _read_offset_commit_request_partition_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequestPartition, int]:
    partition_index, committed_offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    committed_metadata, pos = read_nullable_string(buf, pos)
    value = OffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_metadata=committed_metadata,
    )
    return value, pos


def _write_offset_commit_request_partition_v2(out: bytearray, message: OffsetCommitRequestPartition) -> None:
    out += _PACKED_iq.pack(message.partition_index, message.committed_offset)
    write_nullable_string(out, message.committed_metadata)


def _read_offset_commit_request_partition_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequestPartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    committed_metadata, pos = read_nullable_string(buf, pos)
    value = OffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_leader_epoch=committed_leader_epoch,
        committed_metadata=committed_metadata,
    )
    return value, pos


def _write_offset_commit_request_partition_v6(out: bytearray, message: OffsetCommitRequestPartition) -> None:
    out += _PACKED_iqi.pack(message.partition_index, message.committed_offset, message.committed_leader_epoch)
    write_nullable_string(out, message.committed_metadata)


def _read_offset_commit_request_partition_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequestPartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    committed_metadata, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = OffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_leader_epoch=committed_leader_epoch,
        committed_metadata=committed_metadata,
    )
    return value, pos


def _write_offset_commit_request_partition_v8(out: bytearray, message: OffsetCommitRequestPartition) -> None:
    out += _PACKED_iqi.pack(message.partition_index, message.committed_offset, message.committed_leader_epoch)
    write_compact_nullable_string(out, message.committed_metadata)
    out.append(0)


def _read_offset_commit_request_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequestTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    budget.take(count)
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_commit_request_partition_v2(buf, pos, budget)
        partitions.append(partitions_item)
    return OffsetCommitRequestTopic(name=name, partitions=partitions), pos


def _write_offset_commit_request_topic_v2(out: bytearray, message: OffsetCommitRequestTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v2(out, partitions_item)


def _read_offset_commit_request_topic_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequestTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 18)
    budget.take(count)
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_commit_request_partition_v6(buf, pos, budget)
        partitions.append(partitions_item)
    return OffsetCommitRequestTopic(name=name, partitions=partitions), pos


def _write_offset_commit_request_topic_v6(out: bytearray, message: OffsetCommitRequestTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v6(out, partitions_item)


def _read_offset_commit_request_topic_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_commit_request_partition_v8(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetCommitRequestTopic(name=name, partitions=partitions), pos


def _write_offset_commit_request_topic_v8(out: bytearray, message: OffsetCommitRequestTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v8(out, partitions_item)
    out.append(0)


def _read_offset_commit_request_topic_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequestTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    partitions: list[OffsetCommitRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_commit_request_partition_v8(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions), pos


def _write_offset_commit_request_topic_v10(out: bytearray, message: OffsetCommitRequestTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v8(out, partitions_item)
    out.append(0)


def _read_offset_commit_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id_or_member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    retention_time_ms = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_request_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    value = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id_or_member_epoch,
        member_id=member_id,
        retention_time_ms=retention_time_ms,
        topics=topics,
    )
    return value, pos


def _write_offset_commit_request_v2(out: bytearray, message: OffsetCommitRequest) -> None:
    if message.group_instance_id is not None:
        raise unsupported_field("OffsetCommitRequest.group_instance_id", 2, 4)
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id_or_member_epoch)
    write_string(out, message.member_id)
    out += _PACKED_q.pack(message.retention_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_request_topic_v2(out, topics_item)


def _read_offset_commit_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id_or_member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_request_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    value = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id_or_member_epoch,
        member_id=member_id,
        topics=topics,
    )
    return value, pos


def _write_offset_commit_request_v5(out: bytearray, message: OffsetCommitRequest) -> None:
    if message.group_instance_id is not None:
        raise unsupported_field("OffsetCommitRequest.group_instance_id", 5, 5)
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id_or_member_epoch)
    write_string(out, message.member_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_request_topic_v2(out, topics_item)


def _read_offset_commit_request_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id_or_member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_request_topic_v6(buf, pos, budget)
        topics.append(topics_item)
    value = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id_or_member_epoch,
        member_id=member_id,
        topics=topics,
    )
    return value, pos


def _write_offset_commit_request_v6(out: bytearray, message: OffsetCommitRequest) -> None:
    if message.group_instance_id is not None:
        raise unsupported_field("OffsetCommitRequest.group_instance_id", 6, 6)
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id_or_member_epoch)
    write_string(out, message.member_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_request_topic_v6(out, topics_item)


def _read_offset_commit_request_v7(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id_or_member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_request_topic_v6(buf, pos, budget)
        topics.append(topics_item)
    value = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id_or_member_epoch,
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=topics,
    )
    return value, pos


def _write_offset_commit_request_v7(out: bytearray, message: OffsetCommitRequest) -> None:
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id_or_member_epoch)
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_request_topic_v6(out, topics_item)


def _read_offset_commit_request_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    generation_id_or_member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_request_topic_v8(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id_or_member_epoch,
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=topics,
    )
    return value, pos


def _write_offset_commit_request_v8(out: bytearray, message: OffsetCommitRequest) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id_or_member_epoch)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_request_topic_v8(out, topics_item)
    out.append(0)


def _read_offset_commit_request_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetCommitRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    generation_id_or_member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[OffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_request_topic_v10(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation_id_or_member_epoch,
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=topics,
    )
    return value, pos


def _write_offset_commit_request_v10(out: bytearray, message: OffsetCommitRequest) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id_or_member_epoch)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_request_topic_v10(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[OffsetCommitRequest, int]], ...]] = (
    _read_offset_commit_request_v2,
    _read_offset_commit_request_v2,
    _read_offset_commit_request_v2,
    _read_offset_commit_request_v5,
    _read_offset_commit_request_v6,
    _read_offset_commit_request_v7,
    _read_offset_commit_request_v8,
    _read_offset_commit_request_v8,
    _read_offset_commit_request_v10,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, OffsetCommitRequest], None], ...]] = (
    _write_offset_commit_request_v2,
    _write_offset_commit_request_v2,
    _write_offset_commit_request_v2,
    _write_offset_commit_request_v5,
    _write_offset_commit_request_v6,
    _write_offset_commit_request_v7,
    _write_offset_commit_request_v8,
    _write_offset_commit_request_v8,
    _write_offset_commit_request_v10,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> OffsetCommitRequest:
    if not 2 <= version <= 10:
        raise unsupported_version("OffsetCommitRequest", version)
    try:
        return _REQUEST_READERS[version - 2](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetCommitRequest is cut short") from error


def encode_request_into(out: bytearray, message: OffsetCommitRequest, version: int) -> None:
    if not 2 <= version <= 10:
        raise unsupported_version("OffsetCommitRequest", version)
    try:
        _REQUEST_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetCommitRequest holds a value out of range: {error}") from error


def encode_request(message: OffsetCommitRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_offset_commit_response_partition_v2(buf: Buffer, pos: int) -> tuple[OffsetCommitResponsePartition, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    return OffsetCommitResponsePartition(partition_index=partition_index, error_code=error_code), pos


def _write_offset_commit_response_partition_v2(out: bytearray, message: OffsetCommitResponsePartition) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)


def _read_offset_commit_response_partition_v8(buf: Buffer, pos: int) -> tuple[OffsetCommitResponsePartition, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetCommitResponsePartition(partition_index=partition_index, error_code=error_code), pos


def _write_offset_commit_response_partition_v8(out: bytearray, message: OffsetCommitResponsePartition) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    out.append(0)


def _read_offset_commit_response_topic_v2(buf: Buffer, pos: int) -> tuple[OffsetCommitResponseTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    partitions: list[OffsetCommitResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_commit_response_partition_v2(buf, pos)
        partitions.append(partitions_item)
    return OffsetCommitResponseTopic(name=name, partitions=partitions), pos


def _write_offset_commit_response_topic_v2(out: bytearray, message: OffsetCommitResponseTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_commit_response_partition_v2(out, partitions_item)


def _read_offset_commit_response_topic_v8(buf: Buffer, pos: int) -> tuple[OffsetCommitResponseTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 7)
    partitions: list[OffsetCommitResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_commit_response_partition_v8(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetCommitResponseTopic(name=name, partitions=partitions), pos


def _write_offset_commit_response_topic_v8(out: bytearray, message: OffsetCommitResponseTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_commit_response_partition_v8(out, partitions_item)
    out.append(0)


def _read_offset_commit_response_topic_v10(buf: Buffer, pos: int) -> tuple[OffsetCommitResponseTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 7)
    partitions: list[OffsetCommitResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_commit_response_partition_v8(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetCommitResponseTopic(topic_id=topic_id, partitions=partitions), pos


def _write_offset_commit_response_topic_v10(out: bytearray, message: OffsetCommitResponseTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_commit_response_partition_v8(out, partitions_item)
    out.append(0)


def _read_offset_commit_response_v2(buf: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_response_topic_v2(buf, pos)
        topics.append(topics_item)
    return OffsetCommitResponse(topics=topics), pos


def _write_offset_commit_response_v2(out: bytearray, message: OffsetCommitResponse) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_response_topic_v2(out, topics_item)


def _read_offset_commit_response_v3(buf: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_response_topic_v2(buf, pos)
        topics.append(topics_item)
    return OffsetCommitResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_offset_commit_response_v3(out: bytearray, message: OffsetCommitResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_response_topic_v2(out, topics_item)


def _read_offset_commit_response_v8(buf: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_response_topic_v8(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetCommitResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_offset_commit_response_v8(out: bytearray, message: OffsetCommitResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_response_topic_v8(out, topics_item)
    out.append(0)


def _read_offset_commit_response_v10(buf: Buffer, pos: int) -> tuple[OffsetCommitResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 18)
    topics: list[OffsetCommitResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_commit_response_topic_v10(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetCommitResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_offset_commit_response_v10(out: bytearray, message: OffsetCommitResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_commit_response_topic_v10(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[OffsetCommitResponse, int]], ...]] = (
    _read_offset_commit_response_v2,
    _read_offset_commit_response_v3,
    _read_offset_commit_response_v3,
    _read_offset_commit_response_v3,
    _read_offset_commit_response_v3,
    _read_offset_commit_response_v3,
    _read_offset_commit_response_v8,
    _read_offset_commit_response_v8,
    _read_offset_commit_response_v10,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, OffsetCommitResponse], None], ...]] = (
    _write_offset_commit_response_v2,
    _write_offset_commit_response_v3,
    _write_offset_commit_response_v3,
    _write_offset_commit_response_v3,
    _write_offset_commit_response_v3,
    _write_offset_commit_response_v3,
    _write_offset_commit_response_v8,
    _write_offset_commit_response_v8,
    _write_offset_commit_response_v10,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> OffsetCommitResponse:
    if not 2 <= version <= 10:
        raise unsupported_version("OffsetCommitResponse", version)
    try:
        return _RESPONSE_READERS[version - 2](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetCommitResponse is cut short") from error


def encode_response_into(out: bytearray, message: OffsetCommitResponse, version: int) -> None:
    if not 2 <= version <= 10:
        raise unsupported_version("OffsetCommitResponse", version)
    try:
        _RESPONSE_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetCommitResponse holds a value out of range: {error}") from error


def encode_response(message: OffsetCommitResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
