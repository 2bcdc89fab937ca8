"""OffsetFetchRequest and OffsetFetchResponse.

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
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_nullable_array_length,
    read_nullable_string,
    read_string,
    required,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 9
VERSIONS: Final = range(1, 11)
FLEXIBLE_FROM: Final = 6

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_iqi: Final = struct.Struct(">iqi")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_u: Final = struct.Struct(">16s")


class OffsetFetchRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partition_indexes: list[int] = []


class OffsetFetchRequestTopics(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_indexes: list[int] = []


class OffsetFetchRequestGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str | None = None
    member_epoch: int = -1
    topics: list[OffsetFetchRequestTopics] | None = []


class OffsetFetchRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[OffsetFetchRequestTopic] | None = []
    groups: list[OffsetFetchRequestGroup] = []
    require_stable: bool = False


class OffsetFetchResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0


class OffsetFetchResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = []


class OffsetFetchResponsePartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    metadata: str | None = ""
    error_code: int = 0


class OffsetFetchResponseTopics(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[OffsetFetchResponsePartitions] = []


class OffsetFetchResponseGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[OffsetFetchResponseTopics] = []
    error_code: int = 0


class OffsetFetchResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[OffsetFetchResponseTopic] = []
    error_code: int = 0
    groups: list[OffsetFetchResponseGroup] = []


def _read_offset_fetch_request_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequestTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    partition_indexes, pos = read_int32s(buf, pos, count)
    return OffsetFetchRequestTopic(name=name, partition_indexes=partition_indexes), pos


def _write_offset_fetch_request_topic_v1(out: bytearray, message: OffsetFetchRequestTopic) -> None:
    write_string(out, message.name)
    partition_indexes = message.partition_indexes
    write_array_length(out, len(partition_indexes))
    write_int32s(out, partition_indexes)


def _read_offset_fetch_request_topic_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partition_indexes, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequestTopic(name=name, partition_indexes=partition_indexes), pos


def _write_offset_fetch_request_topic_v6(out: bytearray, message: OffsetFetchRequestTopic) -> None:
    write_compact_string(out, message.name)
    partition_indexes = message.partition_indexes
    write_compact_array_length(out, len(partition_indexes))
    write_int32s(out, partition_indexes)
    out.append(0)


def _read_offset_fetch_request_topics_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequestTopics, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partition_indexes, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequestTopics(name=name, partition_indexes=partition_indexes), pos


def _write_offset_fetch_request_topics_v8(out: bytearray, message: OffsetFetchRequestTopics) -> None:
    write_compact_string(out, message.name)
    partition_indexes = message.partition_indexes
    write_compact_array_length(out, len(partition_indexes))
    write_int32s(out, partition_indexes)
    out.append(0)


def _read_offset_fetch_request_topics_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequestTopics, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partition_indexes, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=partition_indexes), pos


def _write_offset_fetch_request_topics_v10(out: bytearray, message: OffsetFetchRequestTopics) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partition_indexes = message.partition_indexes
    write_compact_array_length(out, len(partition_indexes))
    write_int32s(out, partition_indexes)
    out.append(0)


def _read_offset_fetch_request_group_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequestGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[OffsetFetchRequestTopics] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_request_topics_v8(buf, pos, budget)
            topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequestGroup(group_id=group_id, topics=topics), pos


def _write_offset_fetch_request_group_v8(out: bytearray, message: OffsetFetchRequestGroup) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_offset_fetch_request_topics_v8(out, topics_item)
    out.append(0)


def _read_offset_fetch_request_group_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequestGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[OffsetFetchRequestTopics] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_request_topics_v8(buf, pos, budget)
            topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = OffsetFetchRequestGroup(
        group_id=group_id,
        member_id=member_id,
        member_epoch=member_epoch,
        topics=topics,
    )
    return value, pos


def _write_offset_fetch_request_group_v9(out: bytearray, message: OffsetFetchRequestGroup) -> None:
    write_compact_string(out, message.group_id)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_i.pack(message.member_epoch)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_offset_fetch_request_topics_v8(out, topics_item)
    out.append(0)


def _read_offset_fetch_request_group_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequestGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[OffsetFetchRequestTopics] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_request_topics_v10(buf, pos, budget)
            topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = OffsetFetchRequestGroup(
        group_id=group_id,
        member_id=member_id,
        member_epoch=member_epoch,
        topics=topics,
    )
    return value, pos


def _write_offset_fetch_request_group_v10(out: bytearray, message: OffsetFetchRequestGroup) -> None:
    write_compact_string(out, message.group_id)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_i.pack(message.member_epoch)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_offset_fetch_request_topics_v10(out, topics_item)
    out.append(0)


def _read_offset_fetch_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    group_id, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetFetchRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_request_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return OffsetFetchRequest(group_id=group_id, topics=topics), pos


def _write_offset_fetch_request_v1(out: bytearray, message: OffsetFetchRequest) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchRequest.groups", 1, 1)
    if message.require_stable:
        raise unsupported_field("OffsetFetchRequest.require_stable", 1, 1)
    write_string(out, message.group_id)
    topics = required(message.topics, "OffsetFetchRequest.topics")
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_request_topic_v1(out, topics_item)


def _read_offset_fetch_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    group_id, pos = read_string(buf, pos)
    count, pos = read_nullable_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[OffsetFetchRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_request_topic_v1(buf, pos, budget)
            topics.append(topics_item)
    return OffsetFetchRequest(group_id=group_id, topics=topics), pos


def _write_offset_fetch_request_v2(out: bytearray, message: OffsetFetchRequest) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchRequest.groups", 2, 5)
    if message.require_stable:
        raise unsupported_field("OffsetFetchRequest.require_stable", 2, 5)
    write_string(out, message.group_id)
    topics = message.topics
    if topics is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(topics))
        for topics_item in topics:
            _write_offset_fetch_request_topic_v1(out, topics_item)


def _read_offset_fetch_request_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[OffsetFetchRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_request_topic_v6(buf, pos, budget)
            topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequest(group_id=group_id, topics=topics), pos


def _write_offset_fetch_request_v6(out: bytearray, message: OffsetFetchRequest) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchRequest.groups", 6, 6)
    if message.require_stable:
        raise unsupported_field("OffsetFetchRequest.require_stable", 6, 6)
    write_compact_string(out, message.group_id)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_offset_fetch_request_topic_v6(out, topics_item)
    out.append(0)


def _read_offset_fetch_request_v7(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[OffsetFetchRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_request_topic_v6(buf, pos, budget)
            topics.append(topics_item)
    require_stable = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequest(group_id=group_id, topics=topics, require_stable=require_stable), pos


def _write_offset_fetch_request_v7(out: bytearray, message: OffsetFetchRequest) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchRequest.groups", 7, 7)
    write_compact_string(out, message.group_id)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_offset_fetch_request_topic_v6(out, topics_item)
    out += _PACKED_o.pack(message.require_stable)
    out.append(0)


def _read_offset_fetch_request_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    groups: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        groups_item, pos = _read_offset_fetch_request_group_v8(buf, pos, budget)
        groups.append(groups_item)
    require_stable = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequest(groups=groups, require_stable=require_stable), pos


def _write_offset_fetch_request_v8(out: bytearray, message: OffsetFetchRequest) -> None:
    if message.group_id != "":
        raise unsupported_field("OffsetFetchRequest.group_id", 8, 8)
    if message.topics != []:
        raise unsupported_field("OffsetFetchRequest.topics", 8, 8)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_offset_fetch_request_group_v8(out, groups_item)
    out += _PACKED_o.pack(message.require_stable)
    out.append(0)


def _read_offset_fetch_request_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    groups: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        groups_item, pos = _read_offset_fetch_request_group_v9(buf, pos, budget)
        groups.append(groups_item)
    require_stable = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequest(groups=groups, require_stable=require_stable), pos


def _write_offset_fetch_request_v9(out: bytearray, message: OffsetFetchRequest) -> None:
    if message.group_id != "":
        raise unsupported_field("OffsetFetchRequest.group_id", 9, 9)
    if message.topics != []:
        raise unsupported_field("OffsetFetchRequest.topics", 9, 9)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_offset_fetch_request_group_v9(out, groups_item)
    out += _PACKED_o.pack(message.require_stable)
    out.append(0)


def _read_offset_fetch_request_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[OffsetFetchRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    groups: list[OffsetFetchRequestGroup] = []
    for _ in range(count):
        groups_item, pos = _read_offset_fetch_request_group_v10(buf, pos, budget)
        groups.append(groups_item)
    require_stable = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OffsetFetchRequest(groups=groups, require_stable=require_stable), pos


def _write_offset_fetch_request_v10(out: bytearray, message: OffsetFetchRequest) -> None:
    if message.group_id != "":
        raise unsupported_field("OffsetFetchRequest.group_id", 10, 10)
    if message.topics != []:
        raise unsupported_field("OffsetFetchRequest.topics", 10, 10)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_offset_fetch_request_group_v10(out, groups_item)
    out += _PACKED_o.pack(message.require_stable)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[OffsetFetchRequest, int]], ...]] = (
    _read_offset_fetch_request_v1,
    _read_offset_fetch_request_v2,
    _read_offset_fetch_request_v2,
    _read_offset_fetch_request_v2,
    _read_offset_fetch_request_v2,
    _read_offset_fetch_request_v6,
    _read_offset_fetch_request_v7,
    _read_offset_fetch_request_v8,
    _read_offset_fetch_request_v9,
    _read_offset_fetch_request_v10,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, OffsetFetchRequest], None], ...]] = (
    _write_offset_fetch_request_v1,
    _write_offset_fetch_request_v2,
    _write_offset_fetch_request_v2,
    _write_offset_fetch_request_v2,
    _write_offset_fetch_request_v2,
    _write_offset_fetch_request_v6,
    _write_offset_fetch_request_v7,
    _write_offset_fetch_request_v8,
    _write_offset_fetch_request_v9,
    _write_offset_fetch_request_v10,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> OffsetFetchRequest:
    if not 1 <= version <= 10:
        raise unsupported_version("OffsetFetchRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetFetchRequest is cut short") from error


def encode_request_into(out: bytearray, message: OffsetFetchRequest, version: int) -> None:
    if not 1 <= version <= 10:
        raise unsupported_version("OffsetFetchRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetFetchRequest holds a value out of range: {error}") from error


def encode_request(message: OffsetFetchRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_offset_fetch_response_partition_v1(buf: Buffer, pos: int) -> tuple[OffsetFetchResponsePartition, int]:
    partition_index, committed_offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    metadata, pos = read_nullable_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    value = OffsetFetchResponsePartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        metadata=metadata,
        error_code=error_code,
    )
    return value, pos


def _write_offset_fetch_response_partition_v1(out: bytearray, message: OffsetFetchResponsePartition) -> None:
    out += _PACKED_iq.pack(message.partition_index, message.committed_offset)
    write_nullable_string(out, message.metadata)
    out += _PACKED_h.pack(message.error_code)


def _read_offset_fetch_response_partition_v5(buf: Buffer, pos: int) -> tuple[OffsetFetchResponsePartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    metadata, pos = read_nullable_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    value = OffsetFetchResponsePartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_leader_epoch=committed_leader_epoch,
        metadata=metadata,
        error_code=error_code,
    )
    return value, pos


def _write_offset_fetch_response_partition_v5(out: bytearray, message: OffsetFetchResponsePartition) -> None:
    out += _PACKED_iqi.pack(message.partition_index, message.committed_offset, message.committed_leader_epoch)
    write_nullable_string(out, message.metadata)
    out += _PACKED_h.pack(message.error_code)


def _read_offset_fetch_response_partition_v6(buf: Buffer, pos: int) -> tuple[OffsetFetchResponsePartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    metadata, pos = read_compact_nullable_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = OffsetFetchResponsePartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_leader_epoch=committed_leader_epoch,
        metadata=metadata,
        error_code=error_code,
    )
    return value, pos


def _write_offset_fetch_response_partition_v6(out: bytearray, message: OffsetFetchResponsePartition) -> None:
    out += _PACKED_iqi.pack(message.partition_index, message.committed_offset, message.committed_leader_epoch)
    write_compact_nullable_string(out, message.metadata)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_offset_fetch_response_topic_v1(buf: Buffer, pos: int) -> tuple[OffsetFetchResponseTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 16)
    partitions: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_fetch_response_partition_v1(buf, pos)
        partitions.append(partitions_item)
    return OffsetFetchResponseTopic(name=name, partitions=partitions), pos


def _write_offset_fetch_response_topic_v1(out: bytearray, message: OffsetFetchResponseTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_fetch_response_partition_v1(out, partitions_item)


def _read_offset_fetch_response_topic_v5(buf: Buffer, pos: int) -> tuple[OffsetFetchResponseTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 20)
    partitions: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_fetch_response_partition_v5(buf, pos)
        partitions.append(partitions_item)
    return OffsetFetchResponseTopic(name=name, partitions=partitions), pos


def _write_offset_fetch_response_topic_v5(out: bytearray, message: OffsetFetchResponseTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_fetch_response_partition_v5(out, partitions_item)


def _read_offset_fetch_response_topic_v6(buf: Buffer, pos: int) -> tuple[OffsetFetchResponseTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 20)
    partitions: list[OffsetFetchResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_fetch_response_partition_v6(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetFetchResponseTopic(name=name, partitions=partitions), pos


def _write_offset_fetch_response_topic_v6(out: bytearray, message: OffsetFetchResponseTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_fetch_response_partition_v6(out, partitions_item)
    out.append(0)


def _read_offset_fetch_response_partitions_v8(buf: Buffer, pos: int) -> tuple[OffsetFetchResponsePartitions, int]:
    partition_index, committed_offset, committed_leader_epoch = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    metadata, pos = read_compact_nullable_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = OffsetFetchResponsePartitions(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_leader_epoch=committed_leader_epoch,
        metadata=metadata,
        error_code=error_code,
    )
    return value, pos


def _write_offset_fetch_response_partitions_v8(out: bytearray, message: OffsetFetchResponsePartitions) -> None:
    out += _PACKED_iqi.pack(message.partition_index, message.committed_offset, message.committed_leader_epoch)
    write_compact_nullable_string(out, message.metadata)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_offset_fetch_response_topics_v8(buf: Buffer, pos: int) -> tuple[OffsetFetchResponseTopics, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 20)
    partitions: list[OffsetFetchResponsePartitions] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_fetch_response_partitions_v8(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetFetchResponseTopics(name=name, partitions=partitions), pos


def _write_offset_fetch_response_topics_v8(out: bytearray, message: OffsetFetchResponseTopics) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_fetch_response_partitions_v8(out, partitions_item)
    out.append(0)


def _read_offset_fetch_response_topics_v10(buf: Buffer, pos: int) -> tuple[OffsetFetchResponseTopics, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 20)
    partitions: list[OffsetFetchResponsePartitions] = []
    for _ in range(count):
        partitions_item, pos = _read_offset_fetch_response_partitions_v8(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetFetchResponseTopics(topic_id=topic_id, partitions=partitions), pos


def _write_offset_fetch_response_topics_v10(out: bytearray, message: OffsetFetchResponseTopics) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_offset_fetch_response_partitions_v8(out, partitions_item)
    out.append(0)


def _read_offset_fetch_response_group_v8(buf: Buffer, pos: int) -> tuple[OffsetFetchResponseGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[OffsetFetchResponseTopics] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_response_topics_v8(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetFetchResponseGroup(group_id=group_id, topics=topics, error_code=error_code), pos


def _write_offset_fetch_response_group_v8(out: bytearray, message: OffsetFetchResponseGroup) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_response_topics_v8(out, topics_item)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_offset_fetch_response_group_v10(buf: Buffer, pos: int) -> tuple[OffsetFetchResponseGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    topics: list[OffsetFetchResponseTopics] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_response_topics_v10(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetFetchResponseGroup(group_id=group_id, topics=topics, error_code=error_code), pos


def _write_offset_fetch_response_group_v10(out: bytearray, message: OffsetFetchResponseGroup) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_response_topics_v10(out, topics_item)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_offset_fetch_response_v1(buf: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_response_topic_v1(buf, pos)
        topics.append(topics_item)
    return OffsetFetchResponse(topics=topics), pos


def _write_offset_fetch_response_v1(out: bytearray, message: OffsetFetchResponse) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchResponse.groups", 1, 1)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v1(out, topics_item)


def _read_offset_fetch_response_v2(buf: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_response_topic_v1(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    return OffsetFetchResponse(topics=topics, error_code=error_code), pos


def _write_offset_fetch_response_v2(out: bytearray, message: OffsetFetchResponse) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchResponse.groups", 2, 2)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v1(out, topics_item)
    out += _PACKED_h.pack(message.error_code)


def _read_offset_fetch_response_v3(buf: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_response_topic_v1(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    value = OffsetFetchResponse(
        throttle_time_ms=throttle_time_ms,
        topics=topics,
        error_code=error_code,
    )
    return value, pos


def _write_offset_fetch_response_v3(out: bytearray, message: OffsetFetchResponse) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchResponse.groups", 3, 4)
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v1(out, topics_item)
    out += _PACKED_h.pack(message.error_code)


def _read_offset_fetch_response_v5(buf: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_response_topic_v5(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    value = OffsetFetchResponse(
        throttle_time_ms=throttle_time_ms,
        topics=topics,
        error_code=error_code,
    )
    return value, pos


def _write_offset_fetch_response_v5(out: bytearray, message: OffsetFetchResponse) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchResponse.groups", 5, 5)
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v5(out, topics_item)
    out += _PACKED_h.pack(message.error_code)


def _read_offset_fetch_response_v6(buf: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[OffsetFetchResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_offset_fetch_response_topic_v6(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = OffsetFetchResponse(
        throttle_time_ms=throttle_time_ms,
        topics=topics,
        error_code=error_code,
    )
    return value, pos


def _write_offset_fetch_response_v6(out: bytearray, message: OffsetFetchResponse) -> None:
    if message.groups != []:
        raise unsupported_field("OffsetFetchResponse.groups", 6, 7)
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v6(out, topics_item)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_offset_fetch_response_v8(buf: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    groups: list[OffsetFetchResponseGroup] = []
    for _ in range(count):
        groups_item, pos = _read_offset_fetch_response_group_v8(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetFetchResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_offset_fetch_response_v8(out: bytearray, message: OffsetFetchResponse) -> None:
    if message.topics != []:
        raise unsupported_field("OffsetFetchResponse.topics", 8, 9)
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_offset_fetch_response_group_v8(out, groups_item)
    out.append(0)


def _read_offset_fetch_response_v10(buf: Buffer, pos: int) -> tuple[OffsetFetchResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    groups: list[OffsetFetchResponseGroup] = []
    for _ in range(count):
        groups_item, pos = _read_offset_fetch_response_group_v10(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return OffsetFetchResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_offset_fetch_response_v10(out: bytearray, message: OffsetFetchResponse) -> None:
    if message.topics != []:
        raise unsupported_field("OffsetFetchResponse.topics", 10, 10)
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_offset_fetch_response_group_v10(out, groups_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[OffsetFetchResponse, int]], ...]] = (
    _read_offset_fetch_response_v1,
    _read_offset_fetch_response_v2,
    _read_offset_fetch_response_v3,
    _read_offset_fetch_response_v3,
    _read_offset_fetch_response_v5,
    _read_offset_fetch_response_v6,
    _read_offset_fetch_response_v6,
    _read_offset_fetch_response_v8,
    _read_offset_fetch_response_v8,
    _read_offset_fetch_response_v10,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, OffsetFetchResponse], None], ...]] = (
    _write_offset_fetch_response_v1,
    _write_offset_fetch_response_v2,
    _write_offset_fetch_response_v3,
    _write_offset_fetch_response_v3,
    _write_offset_fetch_response_v5,
    _write_offset_fetch_response_v6,
    _write_offset_fetch_response_v6,
    _write_offset_fetch_response_v8,
    _write_offset_fetch_response_v8,
    _write_offset_fetch_response_v10,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> OffsetFetchResponse:
    if not 1 <= version <= 10:
        raise unsupported_version("OffsetFetchResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetFetchResponse is cut short") from error


def encode_response_into(out: bytearray, message: OffsetFetchResponse, version: int) -> None:
    if not 1 <= version <= 10:
        raise unsupported_version("OffsetFetchResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetFetchResponse holds a value out of range: {error}") from error


def encode_response(message: OffsetFetchResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
