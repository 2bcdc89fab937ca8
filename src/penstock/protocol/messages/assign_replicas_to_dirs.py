"""AssignReplicasToDirsRequest and AssignReplicasToDirsResponse.

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
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
)

API_KEY: Final = 73
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_u: Final = struct.Struct(">16s")


class RequestPartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0


class RequestTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[RequestPartitionData] = []


class RequestDirectoryData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: bytes = ZERO_UUID
    topics: list[RequestTopicData] = []


class AssignReplicasToDirsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = -1
    directories: list[RequestDirectoryData] = []


class ResponsePartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0


class ResponseTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[ResponsePartitionData] = []


class ResponseDirectoryData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: bytes = ZERO_UUID
    topics: list[ResponseTopicData] = []


class AssignReplicasToDirsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    directories: list[ResponseDirectoryData] = []


def _read_request_partition_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestPartitionData(partition_index=partition_index), pos


def _write_request_partition_data_v0(out: bytearray, message: RequestPartitionData) -> None:
    out += _PACKED_i.pack(message.partition_index)
    out.append(0)


def _read_request_topic_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    partitions: list[RequestPartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicData(topic_id=topic_id, partitions=partitions), pos


def _write_request_topic_data_v0(out: bytearray, message: RequestTopicData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_request_directory_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestDirectoryData, int]:
    id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestDirectoryData(id=id, topics=topics), pos


def _write_request_directory_data_v0(out: bytearray, message: RequestDirectoryData) -> None:
    out += _PACKED_u.pack(message.id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v0(out, topics_item)
    out.append(0)


def _read_assign_replicas_to_dirs_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AssignReplicasToDirsRequest, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    directories: list[RequestDirectoryData] = []
    for _ in range(count):
        directories_item, pos = _read_request_directory_data_v0(buf, pos, budget)
        directories.append(directories_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        directories=directories,
    )
    return value, pos


def _write_assign_replicas_to_dirs_request_v0(out: bytearray, message: AssignReplicasToDirsRequest) -> None:
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    directories = message.directories
    write_compact_array_length(out, len(directories))
    for directories_item in directories:
        _write_request_directory_data_v0(out, directories_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AssignReplicasToDirsRequest, int]], ...]] = (
    _read_assign_replicas_to_dirs_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AssignReplicasToDirsRequest], None], ...]] = (
    _write_assign_replicas_to_dirs_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AssignReplicasToDirsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("AssignReplicasToDirsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AssignReplicasToDirsRequest is cut short") from error


def encode_request_into(out: bytearray, message: AssignReplicasToDirsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AssignReplicasToDirsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AssignReplicasToDirsRequest holds a value out of range: {error}") from error


def encode_request(message: AssignReplicasToDirsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_response_partition_data_v0(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponsePartitionData(partition_index=partition_index, error_code=error_code), pos


def _write_response_partition_data_v0(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    out.append(0)


def _read_response_topic_data_v0(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 7)
    partitions: list[ResponsePartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_response_partition_data_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTopicData(topic_id=topic_id, partitions=partitions), pos


def _write_response_topic_data_v0(out: bytearray, message: ResponseTopicData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_response_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_response_directory_data_v0(buf: Buffer, pos: int) -> tuple[ResponseDirectoryData, int]:
    id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 18)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v0(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseDirectoryData(id=id, topics=topics), pos


def _write_response_directory_data_v0(out: bytearray, message: ResponseDirectoryData) -> None:
    out += _PACKED_u.pack(message.id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v0(out, topics_item)
    out.append(0)


def _read_assign_replicas_to_dirs_response_v0(buf: Buffer, pos: int) -> tuple[AssignReplicasToDirsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 18)
    directories: list[ResponseDirectoryData] = []
    for _ in range(count):
        directories_item, pos = _read_response_directory_data_v0(buf, pos)
        directories.append(directories_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AssignReplicasToDirsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        directories=directories,
    )
    return value, pos


def _write_assign_replicas_to_dirs_response_v0(out: bytearray, message: AssignReplicasToDirsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    directories = message.directories
    write_compact_array_length(out, len(directories))
    for directories_item in directories:
        _write_response_directory_data_v0(out, directories_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AssignReplicasToDirsResponse, int]], ...]] = (
    _read_assign_replicas_to_dirs_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AssignReplicasToDirsResponse], None], ...]] = (
    _write_assign_replicas_to_dirs_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AssignReplicasToDirsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("AssignReplicasToDirsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AssignReplicasToDirsResponse is cut short") from error


def encode_response_into(out: bytearray, message: AssignReplicasToDirsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AssignReplicasToDirsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AssignReplicasToDirsResponse holds a value out of range: {error}") from error


def encode_response(message: AssignReplicasToDirsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
