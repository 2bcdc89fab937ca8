"""TxnOffsetCommitRequest and TxnOffsetCommitResponse.

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

API_KEY: Final = 28
VERSIONS: Final = range(0, 6)
FLEXIBLE_FROM: Final = 3

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_iqi: Final = struct.Struct(">iqi")
_PACKED_qh: Final = struct.Struct(">qh")
_PACKED_qhi: Final = struct.Struct(">qhi")


class TxnOffsetCommitRequestPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""


class TxnOffsetCommitRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[TxnOffsetCommitRequestPartition] = []


class TxnOffsetCommitRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topics: list[TxnOffsetCommitRequestTopic] = []


class TxnOffsetCommitResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0


class TxnOffsetCommitResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[TxnOffsetCommitResponsePartition] = []


class TxnOffsetCommitResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponseTopic] = []


def _read_txn_offset_commit_request_partition_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequestPartition, int]:
    partition_index, committed_offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    committed_metadata, pos = read_nullable_string(buf, pos)
    value = TxnOffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_metadata=committed_metadata,
    )
    return value, pos


def _write_txn_offset_commit_request_partition_v0(out: bytearray, message: TxnOffsetCommitRequestPartition) -> None:
    out += _PACKED_iq.pack(message.partition_index, message.committed_offset)
    write_nullable_string(out, message.committed_metadata)


def _read_txn_offset_commit_request_partition_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequestPartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    committed_metadata, pos = read_nullable_string(buf, pos)
    value = TxnOffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_leader_epoch=committed_leader_epoch,
        committed_metadata=committed_metadata,
    )
    return value, pos


def _write_txn_offset_commit_request_partition_v2(out: bytearray, message: TxnOffsetCommitRequestPartition) -> None:
    out += _PACKED_iqi.pack(message.partition_index, message.committed_offset, message.committed_leader_epoch)
    write_nullable_string(out, message.committed_metadata)


def _read_txn_offset_commit_request_partition_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequestPartition, int]:
    partition_index, committed_offset, committed_leader_epoch = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    committed_metadata, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = TxnOffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=committed_offset,
        committed_leader_epoch=committed_leader_epoch,
        committed_metadata=committed_metadata,
    )
    return value, pos


def _write_txn_offset_commit_request_partition_v3(out: bytearray, message: TxnOffsetCommitRequestPartition) -> None:
    out += _PACKED_iqi.pack(message.partition_index, message.committed_offset, message.committed_leader_epoch)
    write_compact_nullable_string(out, message.committed_metadata)
    out.append(0)


def _read_txn_offset_commit_request_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequestTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    budget.take(count)
    partitions: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_txn_offset_commit_request_partition_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return TxnOffsetCommitRequestTopic(name=name, partitions=partitions), pos


def _write_txn_offset_commit_request_topic_v0(out: bytearray, message: TxnOffsetCommitRequestTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_txn_offset_commit_request_partition_v0(out, partitions_item)


def _read_txn_offset_commit_request_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequestTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 18)
    budget.take(count)
    partitions: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_txn_offset_commit_request_partition_v2(buf, pos, budget)
        partitions.append(partitions_item)
    return TxnOffsetCommitRequestTopic(name=name, partitions=partitions), pos


def _write_txn_offset_commit_request_topic_v2(out: bytearray, message: TxnOffsetCommitRequestTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_txn_offset_commit_request_partition_v2(out, partitions_item)


def _read_txn_offset_commit_request_topic_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    partitions: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_txn_offset_commit_request_partition_v3(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return TxnOffsetCommitRequestTopic(name=name, partitions=partitions), pos


def _write_txn_offset_commit_request_topic_v3(out: bytearray, message: TxnOffsetCommitRequestTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_txn_offset_commit_request_partition_v3(out, partitions_item)
    out.append(0)


def _read_txn_offset_commit_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequest, int]:
    transactional_id, pos = read_string(buf, pos)
    group_id, pos = read_string(buf, pos)
    producer_id, producer_epoch = _PACKED_qh.unpack_from(buf, pos)
    pos += 10
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_txn_offset_commit_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    value = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=topics,
    )
    return value, pos


def _write_txn_offset_commit_request_v0(out: bytearray, message: TxnOffsetCommitRequest) -> None:
    if message.generation_id != -1:
        raise unsupported_field("TxnOffsetCommitRequest.generation_id", 0, 1)
    if message.member_id != "":
        raise unsupported_field("TxnOffsetCommitRequest.member_id", 0, 1)
    if message.group_instance_id is not None:
        raise unsupported_field("TxnOffsetCommitRequest.group_instance_id", 0, 1)
    write_string(out, message.transactional_id)
    write_string(out, message.group_id)
    out += _PACKED_qh.pack(message.producer_id, message.producer_epoch)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_txn_offset_commit_request_topic_v0(out, topics_item)


def _read_txn_offset_commit_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequest, int]:
    transactional_id, pos = read_string(buf, pos)
    group_id, pos = read_string(buf, pos)
    producer_id, producer_epoch = _PACKED_qh.unpack_from(buf, pos)
    pos += 10
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_txn_offset_commit_request_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    value = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=topics,
    )
    return value, pos


def _write_txn_offset_commit_request_v2(out: bytearray, message: TxnOffsetCommitRequest) -> None:
    if message.generation_id != -1:
        raise unsupported_field("TxnOffsetCommitRequest.generation_id", 2, 2)
    if message.member_id != "":
        raise unsupported_field("TxnOffsetCommitRequest.member_id", 2, 2)
    if message.group_instance_id is not None:
        raise unsupported_field("TxnOffsetCommitRequest.group_instance_id", 2, 2)
    write_string(out, message.transactional_id)
    write_string(out, message.group_id)
    out += _PACKED_qh.pack(message.producer_id, message.producer_epoch)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_txn_offset_commit_request_topic_v2(out, topics_item)


def _read_txn_offset_commit_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[TxnOffsetCommitRequest, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    group_id, pos = read_compact_string(buf, pos)
    producer_id, producer_epoch, generation_id = _PACKED_qhi.unpack_from(buf, pos)
    pos += 14
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_txn_offset_commit_request_topic_v3(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=topics,
    )
    return value, pos


def _write_txn_offset_commit_request_v3(out: bytearray, message: TxnOffsetCommitRequest) -> None:
    write_compact_string(out, message.transactional_id)
    write_compact_string(out, message.group_id)
    out += _PACKED_qhi.pack(message.producer_id, message.producer_epoch, message.generation_id)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_txn_offset_commit_request_topic_v3(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[TxnOffsetCommitRequest, int]], ...]] = (
    _read_txn_offset_commit_request_v0,
    _read_txn_offset_commit_request_v0,
    _read_txn_offset_commit_request_v2,
    _read_txn_offset_commit_request_v3,
    _read_txn_offset_commit_request_v3,
    _read_txn_offset_commit_request_v3,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, TxnOffsetCommitRequest], None], ...]] = (
    _write_txn_offset_commit_request_v0,
    _write_txn_offset_commit_request_v0,
    _write_txn_offset_commit_request_v2,
    _write_txn_offset_commit_request_v3,
    _write_txn_offset_commit_request_v3,
    _write_txn_offset_commit_request_v3,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> TxnOffsetCommitRequest:
    if not 0 <= version <= 5:
        raise unsupported_version("TxnOffsetCommitRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("TxnOffsetCommitRequest is cut short") from error


def encode_request_into(out: bytearray, message: TxnOffsetCommitRequest, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("TxnOffsetCommitRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"TxnOffsetCommitRequest holds a value out of range: {error}") from error


def encode_request(message: TxnOffsetCommitRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_txn_offset_commit_response_partition_v0(buf: Buffer, pos: int) -> tuple[TxnOffsetCommitResponsePartition, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    return TxnOffsetCommitResponsePartition(partition_index=partition_index, error_code=error_code), pos


def _write_txn_offset_commit_response_partition_v0(out: bytearray, message: TxnOffsetCommitResponsePartition) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)


def _read_txn_offset_commit_response_partition_v3(buf: Buffer, pos: int) -> tuple[TxnOffsetCommitResponsePartition, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TxnOffsetCommitResponsePartition(partition_index=partition_index, error_code=error_code), pos


def _write_txn_offset_commit_response_partition_v3(out: bytearray, message: TxnOffsetCommitResponsePartition) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    out.append(0)


def _read_txn_offset_commit_response_topic_v0(buf: Buffer, pos: int) -> tuple[TxnOffsetCommitResponseTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    partitions: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_txn_offset_commit_response_partition_v0(buf, pos)
        partitions.append(partitions_item)
    return TxnOffsetCommitResponseTopic(name=name, partitions=partitions), pos


def _write_txn_offset_commit_response_topic_v0(out: bytearray, message: TxnOffsetCommitResponseTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_txn_offset_commit_response_partition_v0(out, partitions_item)


def _read_txn_offset_commit_response_topic_v3(buf: Buffer, pos: int) -> tuple[TxnOffsetCommitResponseTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 7)
    partitions: list[TxnOffsetCommitResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_txn_offset_commit_response_partition_v3(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TxnOffsetCommitResponseTopic(name=name, partitions=partitions), pos


def _write_txn_offset_commit_response_topic_v3(out: bytearray, message: TxnOffsetCommitResponseTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_txn_offset_commit_response_partition_v3(out, partitions_item)
    out.append(0)


def _read_txn_offset_commit_response_v0(buf: Buffer, pos: int) -> tuple[TxnOffsetCommitResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_txn_offset_commit_response_topic_v0(buf, pos)
        topics.append(topics_item)
    return TxnOffsetCommitResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_txn_offset_commit_response_v0(out: bytearray, message: TxnOffsetCommitResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_txn_offset_commit_response_topic_v0(out, topics_item)


def _read_txn_offset_commit_response_v3(buf: Buffer, pos: int) -> tuple[TxnOffsetCommitResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[TxnOffsetCommitResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_txn_offset_commit_response_topic_v3(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TxnOffsetCommitResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_txn_offset_commit_response_v3(out: bytearray, message: TxnOffsetCommitResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_txn_offset_commit_response_topic_v3(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[TxnOffsetCommitResponse, int]], ...]] = (
    _read_txn_offset_commit_response_v0,
    _read_txn_offset_commit_response_v0,
    _read_txn_offset_commit_response_v0,
    _read_txn_offset_commit_response_v3,
    _read_txn_offset_commit_response_v3,
    _read_txn_offset_commit_response_v3,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, TxnOffsetCommitResponse], None], ...]] = (
    _write_txn_offset_commit_response_v0,
    _write_txn_offset_commit_response_v0,
    _write_txn_offset_commit_response_v0,
    _write_txn_offset_commit_response_v3,
    _write_txn_offset_commit_response_v3,
    _write_txn_offset_commit_response_v3,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> TxnOffsetCommitResponse:
    if not 0 <= version <= 5:
        raise unsupported_version("TxnOffsetCommitResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("TxnOffsetCommitResponse is cut short") from error


def encode_response_into(out: bytearray, message: TxnOffsetCommitResponse, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("TxnOffsetCommitResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"TxnOffsetCommitResponse holds a value out of range: {error}") from error


def encode_response(message: TxnOffsetCommitResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
