"""DescribeLogDirsRequest and DescribeLogDirsResponse.

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
    read_compact_nullable_array_length,
    read_compact_string,
    read_int32s,
    read_nullable_array_length,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
    write_string,
)

API_KEY: Final = 35
VERSIONS: Final = range(1, 6)
FLEXIBLE_FROM: Final = 2

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iqqo: Final = struct.Struct(">iqq?")
_PACKED_qq: Final = struct.Struct(">qq")
_PACKED_qqo: Final = struct.Struct(">qq?")


class DescribableLogDirTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[int] = []


class DescribeLogDirsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[DescribableLogDirTopic] | None = []


class DescribeLogDirsPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False


class DescribeLogDirsTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = []


class DescribeLogDirsResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False


class DescribeLogDirsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    results: list[DescribeLogDirsResult] = []


def _read_describable_log_dir_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribableLogDirTopic, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    return DescribableLogDirTopic(topic=topic, partitions=partitions), pos


def _write_describable_log_dir_topic_v1(out: bytearray, message: DescribableLogDirTopic) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    write_int32s(out, partitions)


def _read_describable_log_dir_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribableLogDirTopic, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribableLogDirTopic(topic=topic, partitions=partitions), pos


def _write_describable_log_dir_topic_v2(out: bytearray, message: DescribableLogDirTopic) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_describe_log_dirs_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeLogDirsRequest, int]:
    count, pos = read_nullable_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[DescribableLogDirTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_describable_log_dir_topic_v1(buf, pos, budget)
            topics.append(topics_item)
    return DescribeLogDirsRequest(topics=topics), pos


def _write_describe_log_dirs_request_v1(out: bytearray, message: DescribeLogDirsRequest) -> None:
    topics = message.topics
    if topics is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(topics))
        for topics_item in topics:
            _write_describable_log_dir_topic_v1(out, topics_item)


def _read_describe_log_dirs_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeLogDirsRequest, int]:
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[DescribableLogDirTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_describable_log_dir_topic_v2(buf, pos, budget)
            topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeLogDirsRequest(topics=topics), pos


def _write_describe_log_dirs_request_v2(out: bytearray, message: DescribeLogDirsRequest) -> None:
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_describable_log_dir_topic_v2(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeLogDirsRequest, int]], ...]] = (
    _read_describe_log_dirs_request_v1,
    _read_describe_log_dirs_request_v2,
    _read_describe_log_dirs_request_v2,
    _read_describe_log_dirs_request_v2,
    _read_describe_log_dirs_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeLogDirsRequest], None], ...]] = (
    _write_describe_log_dirs_request_v1,
    _write_describe_log_dirs_request_v2,
    _write_describe_log_dirs_request_v2,
    _write_describe_log_dirs_request_v2,
    _write_describe_log_dirs_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeLogDirsRequest:
    if not 1 <= version <= 5:
        raise unsupported_version("DescribeLogDirsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeLogDirsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeLogDirsRequest, version: int) -> None:
    if not 1 <= version <= 5:
        raise unsupported_version("DescribeLogDirsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeLogDirsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeLogDirsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_describe_log_dirs_partition_v1(buf: Buffer, pos: int) -> tuple[DescribeLogDirsPartition, int]:
    partition_index, partition_size, offset_lag, is_future_key = _PACKED_iqqo.unpack_from(buf, pos)
    pos += 21
    value = DescribeLogDirsPartition(
        partition_index=partition_index,
        partition_size=partition_size,
        offset_lag=offset_lag,
        is_future_key=is_future_key,
    )
    return value, pos


def _write_describe_log_dirs_partition_v1(out: bytearray, message: DescribeLogDirsPartition) -> None:
    out += _PACKED_iqqo.pack(message.partition_index, message.partition_size, message.offset_lag, message.is_future_key)


def _read_describe_log_dirs_partition_v2(buf: Buffer, pos: int) -> tuple[DescribeLogDirsPartition, int]:
    partition_index, partition_size, offset_lag, is_future_key = _PACKED_iqqo.unpack_from(buf, pos)
    pos += 21
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeLogDirsPartition(
        partition_index=partition_index,
        partition_size=partition_size,
        offset_lag=offset_lag,
        is_future_key=is_future_key,
    )
    return value, pos


def _write_describe_log_dirs_partition_v2(out: bytearray, message: DescribeLogDirsPartition) -> None:
    out += _PACKED_iqqo.pack(message.partition_index, message.partition_size, message.offset_lag, message.is_future_key)
    out.append(0)


def _read_describe_log_dirs_topic_v1(buf: Buffer, pos: int) -> tuple[DescribeLogDirsTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 21)
    partitions: list[DescribeLogDirsPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_describe_log_dirs_partition_v1(buf, pos)
        partitions.append(partitions_item)
    return DescribeLogDirsTopic(name=name, partitions=partitions), pos


def _write_describe_log_dirs_topic_v1(out: bytearray, message: DescribeLogDirsTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_describe_log_dirs_partition_v1(out, partitions_item)


def _read_describe_log_dirs_topic_v2(buf: Buffer, pos: int) -> tuple[DescribeLogDirsTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 22)
    partitions: list[DescribeLogDirsPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_describe_log_dirs_partition_v2(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeLogDirsTopic(name=name, partitions=partitions), pos


def _write_describe_log_dirs_topic_v2(out: bytearray, message: DescribeLogDirsTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_describe_log_dirs_partition_v2(out, partitions_item)
    out.append(0)


def _read_describe_log_dirs_result_v1(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    log_dir, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    topics: list[DescribeLogDirsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_describe_log_dirs_topic_v1(buf, pos)
        topics.append(topics_item)
    return DescribeLogDirsResult(error_code=error_code, log_dir=log_dir, topics=topics), pos


def _write_describe_log_dirs_result_v1(out: bytearray, message: DescribeLogDirsResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_string(out, message.log_dir)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v1(out, topics_item)


def _read_describe_log_dirs_result_v2(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    log_dir, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[DescribeLogDirsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_describe_log_dirs_topic_v2(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeLogDirsResult(error_code=error_code, log_dir=log_dir, topics=topics), pos


def _write_describe_log_dirs_result_v2(out: bytearray, message: DescribeLogDirsResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, message.log_dir)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v2(out, topics_item)
    out.append(0)


def _read_describe_log_dirs_result_v4(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    log_dir, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[DescribeLogDirsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_describe_log_dirs_topic_v2(buf, pos)
        topics.append(topics_item)
    total_bytes, usable_bytes = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeLogDirsResult(
        error_code=error_code,
        log_dir=log_dir,
        topics=topics,
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )
    return value, pos


def _write_describe_log_dirs_result_v4(out: bytearray, message: DescribeLogDirsResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, message.log_dir)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v2(out, topics_item)
    out += _PACKED_qq.pack(message.total_bytes, message.usable_bytes)
    out.append(0)


def _read_describe_log_dirs_result_v5(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    log_dir, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[DescribeLogDirsTopic] = []
    for _ in range(count):
        topics_item, pos = _read_describe_log_dirs_topic_v2(buf, pos)
        topics.append(topics_item)
    total_bytes, usable_bytes, is_cordoned = _PACKED_qqo.unpack_from(buf, pos)
    pos += 17
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeLogDirsResult(
        error_code=error_code,
        log_dir=log_dir,
        topics=topics,
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        is_cordoned=is_cordoned,
    )
    return value, pos


def _write_describe_log_dirs_result_v5(out: bytearray, message: DescribeLogDirsResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, message.log_dir)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v2(out, topics_item)
    out += _PACKED_qqo.pack(message.total_bytes, message.usable_bytes, message.is_cordoned)
    out.append(0)


def _read_describe_log_dirs_response_v1(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 8)
    results: list[DescribeLogDirsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_log_dirs_result_v1(buf, pos)
        results.append(results_item)
    return DescribeLogDirsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_describe_log_dirs_response_v1(out: bytearray, message: DescribeLogDirsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_array_length(out, len(results))
    for results_item in results:
        _write_describe_log_dirs_result_v1(out, results_item)


def _read_describe_log_dirs_response_v2(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    results: list[DescribeLogDirsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_log_dirs_result_v2(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeLogDirsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_describe_log_dirs_response_v2(out: bytearray, message: DescribeLogDirsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_describe_log_dirs_result_v2(out, results_item)
    out.append(0)


def _read_describe_log_dirs_response_v3(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 5)
    results: list[DescribeLogDirsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_log_dirs_result_v2(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeLogDirsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        results=results,
    )
    return value, pos


def _write_describe_log_dirs_response_v3(out: bytearray, message: DescribeLogDirsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_describe_log_dirs_result_v2(out, results_item)
    out.append(0)


def _read_describe_log_dirs_response_v4(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 21)
    results: list[DescribeLogDirsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_log_dirs_result_v4(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeLogDirsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        results=results,
    )
    return value, pos


def _write_describe_log_dirs_response_v4(out: bytearray, message: DescribeLogDirsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_describe_log_dirs_result_v4(out, results_item)
    out.append(0)


def _read_describe_log_dirs_response_v5(buf: Buffer, pos: int) -> tuple[DescribeLogDirsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 22)
    results: list[DescribeLogDirsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_log_dirs_result_v5(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeLogDirsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        results=results,
    )
    return value, pos


def _write_describe_log_dirs_response_v5(out: bytearray, message: DescribeLogDirsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_describe_log_dirs_result_v5(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeLogDirsResponse, int]], ...]] = (
    _read_describe_log_dirs_response_v1,
    _read_describe_log_dirs_response_v2,
    _read_describe_log_dirs_response_v3,
    _read_describe_log_dirs_response_v4,
    _read_describe_log_dirs_response_v5,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeLogDirsResponse], None], ...]] = (
    _write_describe_log_dirs_response_v1,
    _write_describe_log_dirs_response_v2,
    _write_describe_log_dirs_response_v3,
    _write_describe_log_dirs_response_v4,
    _write_describe_log_dirs_response_v5,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeLogDirsResponse:
    if not 1 <= version <= 5:
        raise unsupported_version("DescribeLogDirsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeLogDirsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeLogDirsResponse, version: int) -> None:
    if not 1 <= version <= 5:
        raise unsupported_version("DescribeLogDirsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeLogDirsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeLogDirsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
