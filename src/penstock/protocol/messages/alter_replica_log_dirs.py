"""AlterReplicaLogDirsRequest and AlterReplicaLogDirsResponse.

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
    read_int32s,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
    write_string,
)

API_KEY: Final = 34
VERSIONS: Final = range(1, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class AlterReplicaLogDirTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[int] = []


class AlterReplicaLogDir(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = []


class AlterReplicaLogDirsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    dirs: list[AlterReplicaLogDir] = []


class AlterReplicaLogDirPartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0


class AlterReplicaLogDirTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = []


class AlterReplicaLogDirsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirTopicResult] = []


def _read_alter_replica_log_dir_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterReplicaLogDirTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    return AlterReplicaLogDirTopic(name=name, partitions=partitions), pos


def _write_alter_replica_log_dir_topic_v1(out: bytearray, message: AlterReplicaLogDirTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    write_int32s(out, partitions)


def _read_alter_replica_log_dir_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterReplicaLogDirTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterReplicaLogDirTopic(name=name, partitions=partitions), pos


def _write_alter_replica_log_dir_topic_v2(out: bytearray, message: AlterReplicaLogDirTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_alter_replica_log_dir_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterReplicaLogDir, int]:
    path, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[AlterReplicaLogDirTopic] = []
    for _ in range(count):
        topics_item, pos = _read_alter_replica_log_dir_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    return AlterReplicaLogDir(path=path, topics=topics), pos


def _write_alter_replica_log_dir_v1(out: bytearray, message: AlterReplicaLogDir) -> None:
    write_string(out, message.path)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_alter_replica_log_dir_topic_v1(out, topics_item)


def _read_alter_replica_log_dir_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterReplicaLogDir, int]:
    path, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[AlterReplicaLogDirTopic] = []
    for _ in range(count):
        topics_item, pos = _read_alter_replica_log_dir_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterReplicaLogDir(path=path, topics=topics), pos


def _write_alter_replica_log_dir_v2(out: bytearray, message: AlterReplicaLogDir) -> None:
    write_compact_string(out, message.path)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_alter_replica_log_dir_topic_v2(out, topics_item)
    out.append(0)


def _read_alter_replica_log_dirs_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterReplicaLogDirsRequest, int]:
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    dirs: list[AlterReplicaLogDir] = []
    for _ in range(count):
        dirs_item, pos = _read_alter_replica_log_dir_v1(buf, pos, budget)
        dirs.append(dirs_item)
    return AlterReplicaLogDirsRequest(dirs=dirs), pos


def _write_alter_replica_log_dirs_request_v1(out: bytearray, message: AlterReplicaLogDirsRequest) -> None:
    dirs = message.dirs
    write_array_length(out, len(dirs))
    for dirs_item in dirs:
        _write_alter_replica_log_dir_v1(out, dirs_item)


def _read_alter_replica_log_dirs_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterReplicaLogDirsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    dirs: list[AlterReplicaLogDir] = []
    for _ in range(count):
        dirs_item, pos = _read_alter_replica_log_dir_v2(buf, pos, budget)
        dirs.append(dirs_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterReplicaLogDirsRequest(dirs=dirs), pos


def _write_alter_replica_log_dirs_request_v2(out: bytearray, message: AlterReplicaLogDirsRequest) -> None:
    dirs = message.dirs
    write_compact_array_length(out, len(dirs))
    for dirs_item in dirs:
        _write_alter_replica_log_dir_v2(out, dirs_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AlterReplicaLogDirsRequest, int]], ...]] = (
    _read_alter_replica_log_dirs_request_v1,
    _read_alter_replica_log_dirs_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AlterReplicaLogDirsRequest], None], ...]] = (
    _write_alter_replica_log_dirs_request_v1,
    _write_alter_replica_log_dirs_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AlterReplicaLogDirsRequest:
    if not 1 <= version <= 2:
        raise unsupported_version("AlterReplicaLogDirsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterReplicaLogDirsRequest is cut short") from error


def encode_request_into(out: bytearray, message: AlterReplicaLogDirsRequest, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("AlterReplicaLogDirsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterReplicaLogDirsRequest holds a value out of range: {error}") from error


def encode_request(message: AlterReplicaLogDirsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_alter_replica_log_dir_partition_result_v1(buf: Buffer, pos: int) -> tuple[AlterReplicaLogDirPartitionResult, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    value = AlterReplicaLogDirPartitionResult(
        partition_index=partition_index,
        error_code=error_code,
    )
    return value, pos


def _write_alter_replica_log_dir_partition_result_v1(out: bytearray, message: AlterReplicaLogDirPartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)


def _read_alter_replica_log_dir_partition_result_v2(buf: Buffer, pos: int) -> tuple[AlterReplicaLogDirPartitionResult, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterReplicaLogDirPartitionResult(
        partition_index=partition_index,
        error_code=error_code,
    )
    return value, pos


def _write_alter_replica_log_dir_partition_result_v2(out: bytearray, message: AlterReplicaLogDirPartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    out.append(0)


def _read_alter_replica_log_dir_topic_result_v1(buf: Buffer, pos: int) -> tuple[AlterReplicaLogDirTopicResult, int]:
    topic_name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    partitions: list[AlterReplicaLogDirPartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_alter_replica_log_dir_partition_result_v1(buf, pos)
        partitions.append(partitions_item)
    return AlterReplicaLogDirTopicResult(topic_name=topic_name, partitions=partitions), pos


def _write_alter_replica_log_dir_topic_result_v1(out: bytearray, message: AlterReplicaLogDirTopicResult) -> None:
    write_string(out, message.topic_name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_alter_replica_log_dir_partition_result_v1(out, partitions_item)


def _read_alter_replica_log_dir_topic_result_v2(buf: Buffer, pos: int) -> tuple[AlterReplicaLogDirTopicResult, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 7)
    partitions: list[AlterReplicaLogDirPartitionResult] = []
    for _ in range(count):
        partitions_item, pos = _read_alter_replica_log_dir_partition_result_v2(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AlterReplicaLogDirTopicResult(topic_name=topic_name, partitions=partitions), pos


def _write_alter_replica_log_dir_topic_result_v2(out: bytearray, message: AlterReplicaLogDirTopicResult) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_alter_replica_log_dir_partition_result_v2(out, partitions_item)
    out.append(0)


def _read_alter_replica_log_dirs_response_v1(buf: Buffer, pos: int) -> tuple[AlterReplicaLogDirsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    results: list[AlterReplicaLogDirTopicResult] = []
    for _ in range(count):
        results_item, pos = _read_alter_replica_log_dir_topic_result_v1(buf, pos)
        results.append(results_item)
    return AlterReplicaLogDirsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_alter_replica_log_dirs_response_v1(out: bytearray, message: AlterReplicaLogDirsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_array_length(out, len(results))
    for results_item in results:
        _write_alter_replica_log_dir_topic_result_v1(out, results_item)


def _read_alter_replica_log_dirs_response_v2(buf: Buffer, pos: int) -> tuple[AlterReplicaLogDirsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    results: list[AlterReplicaLogDirTopicResult] = []
    for _ in range(count):
        results_item, pos = _read_alter_replica_log_dir_topic_result_v2(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AlterReplicaLogDirsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_alter_replica_log_dirs_response_v2(out: bytearray, message: AlterReplicaLogDirsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_alter_replica_log_dir_topic_result_v2(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AlterReplicaLogDirsResponse, int]], ...]] = (
    _read_alter_replica_log_dirs_response_v1,
    _read_alter_replica_log_dirs_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AlterReplicaLogDirsResponse], None], ...]] = (
    _write_alter_replica_log_dirs_response_v1,
    _write_alter_replica_log_dirs_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AlterReplicaLogDirsResponse:
    if not 1 <= version <= 2:
        raise unsupported_version("AlterReplicaLogDirsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterReplicaLogDirsResponse is cut short") from error


def encode_response_into(out: bytearray, message: AlterReplicaLogDirsResponse, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("AlterReplicaLogDirsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterReplicaLogDirsResponse holds a value out of range: {error}") from error


def encode_response(message: AlterReplicaLogDirsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
