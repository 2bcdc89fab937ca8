"""ElectLeadersRequest and ElectLeadersResponse.

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
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_nullable_array_length,
    read_nullable_string,
    read_string,
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

API_KEY: Final = 43
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_b: Final = struct.Struct(">b")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[int] = []


class ElectLeadersRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    election_type: int = 0
    topic_partitions: list[TopicPartitions] | None = []
    timeout_ms: int = 60000


class PartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ""


class ReplicaElectionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partition_result: list[PartitionResult] = []


class ElectLeadersResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ReplicaElectionResult] = []


def _read_topic_partitions_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    return TopicPartitions(topic=topic, partitions=partitions), pos


def _write_topic_partitions_v0(out: bytearray, message: TopicPartitions) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    write_int32s(out, partitions)


def _read_topic_partitions_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicPartitions, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return TopicPartitions(topic=topic, partitions=partitions), pos


def _write_topic_partitions_v2(out: bytearray, message: TopicPartitions) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_elect_leaders_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ElectLeadersRequest, int]:
    count, pos = read_nullable_array_length(buf, pos, 6)
    budget.take(count)
    topic_partitions: list[TopicPartitions] | None = None
    if count >= 0:
        topic_partitions = []
        for _ in range(count):
            topic_partitions_item, pos = _read_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return ElectLeadersRequest(topic_partitions=topic_partitions, timeout_ms=timeout_ms), pos


def _write_elect_leaders_request_v0(out: bytearray, message: ElectLeadersRequest) -> None:
    if message.election_type != 0:
        raise unsupported_field("ElectLeadersRequest.election_type", 0, 0)
    topic_partitions = message.topic_partitions
    if topic_partitions is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(topic_partitions))
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v0(out, topic_partitions_item)
    out += _PACKED_i.pack(message.timeout_ms)


def _read_elect_leaders_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ElectLeadersRequest, int]:
    election_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_nullable_array_length(buf, pos, 6)
    budget.take(count)
    topic_partitions: list[TopicPartitions] | None = None
    if count >= 0:
        topic_partitions = []
        for _ in range(count):
            topic_partitions_item, pos = _read_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=topic_partitions,
        timeout_ms=timeout_ms,
    )
    return value, pos


def _write_elect_leaders_request_v1(out: bytearray, message: ElectLeadersRequest) -> None:
    out += _PACKED_b.pack(message.election_type)
    topic_partitions = message.topic_partitions
    if topic_partitions is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(topic_partitions))
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v0(out, topic_partitions_item)
    out += _PACKED_i.pack(message.timeout_ms)


def _read_elect_leaders_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[ElectLeadersRequest, int]:
    election_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    budget.take(count)
    topic_partitions: list[TopicPartitions] | None = None
    if count >= 0:
        topic_partitions = []
        for _ in range(count):
            topic_partitions_item, pos = _read_topic_partitions_v2(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=topic_partitions,
        timeout_ms=timeout_ms,
    )
    return value, pos


def _write_elect_leaders_request_v2(out: bytearray, message: ElectLeadersRequest) -> None:
    out += _PACKED_b.pack(message.election_type)
    topic_partitions = message.topic_partitions
    if topic_partitions is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topic_partitions))
        for topic_partitions_item in topic_partitions:
            _write_topic_partitions_v2(out, topic_partitions_item)
    out += _PACKED_i.pack(message.timeout_ms)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ElectLeadersRequest, int]], ...]] = (
    _read_elect_leaders_request_v0,
    _read_elect_leaders_request_v1,
    _read_elect_leaders_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ElectLeadersRequest], None], ...]] = (
    _write_elect_leaders_request_v0,
    _write_elect_leaders_request_v1,
    _write_elect_leaders_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ElectLeadersRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("ElectLeadersRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ElectLeadersRequest is cut short") from error


def encode_request_into(out: bytearray, message: ElectLeadersRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("ElectLeadersRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ElectLeadersRequest holds a value out of range: {error}") from error


def encode_request(message: ElectLeadersRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_partition_result_v0(buf: Buffer, pos: int) -> tuple[PartitionResult, int]:
    partition_id, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_nullable_string(buf, pos)
    value = PartitionResult(
        partition_id=partition_id,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_partition_result_v0(out: bytearray, message: PartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition_id, message.error_code)
    write_nullable_string(out, message.error_message)


def _read_partition_result_v2(buf: Buffer, pos: int) -> tuple[PartitionResult, int]:
    partition_id, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionResult(
        partition_id=partition_id,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_partition_result_v2(out: bytearray, message: PartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition_id, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_replica_election_result_v0(buf: Buffer, pos: int) -> tuple[ReplicaElectionResult, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 8)
    partition_result: list[PartitionResult] = []
    for _ in range(count):
        partition_result_item, pos = _read_partition_result_v0(buf, pos)
        partition_result.append(partition_result_item)
    return ReplicaElectionResult(topic=topic, partition_result=partition_result), pos


def _write_replica_election_result_v0(out: bytearray, message: ReplicaElectionResult) -> None:
    write_string(out, message.topic)
    partition_result = message.partition_result
    write_array_length(out, len(partition_result))
    for partition_result_item in partition_result:
        _write_partition_result_v0(out, partition_result_item)


def _read_replica_election_result_v2(buf: Buffer, pos: int) -> tuple[ReplicaElectionResult, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 8)
    partition_result: list[PartitionResult] = []
    for _ in range(count):
        partition_result_item, pos = _read_partition_result_v2(buf, pos)
        partition_result.append(partition_result_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReplicaElectionResult(topic=topic, partition_result=partition_result), pos


def _write_replica_election_result_v2(out: bytearray, message: ReplicaElectionResult) -> None:
    write_compact_string(out, message.topic)
    partition_result = message.partition_result
    write_compact_array_length(out, len(partition_result))
    for partition_result_item in partition_result:
        _write_partition_result_v2(out, partition_result_item)
    out.append(0)


def _read_elect_leaders_response_v0(buf: Buffer, pos: int) -> tuple[ElectLeadersResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    replica_election_results: list[ReplicaElectionResult] = []
    for _ in range(count):
        replica_election_results_item, pos = _read_replica_election_result_v0(buf, pos)
        replica_election_results.append(replica_election_results_item)
    value = ElectLeadersResponse(
        throttle_time_ms=throttle_time_ms,
        replica_election_results=replica_election_results,
    )
    return value, pos


def _write_elect_leaders_response_v0(out: bytearray, message: ElectLeadersResponse) -> None:
    if message.error_code != 0:
        raise unsupported_field("ElectLeadersResponse.error_code", 0, 0)
    out += _PACKED_i.pack(message.throttle_time_ms)
    replica_election_results = message.replica_election_results
    write_array_length(out, len(replica_election_results))
    for replica_election_results_item in replica_election_results:
        _write_replica_election_result_v0(out, replica_election_results_item)


def _read_elect_leaders_response_v1(buf: Buffer, pos: int) -> tuple[ElectLeadersResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_array_length(buf, pos, 6)
    replica_election_results: list[ReplicaElectionResult] = []
    for _ in range(count):
        replica_election_results_item, pos = _read_replica_election_result_v0(buf, pos)
        replica_election_results.append(replica_election_results_item)
    value = ElectLeadersResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        replica_election_results=replica_election_results,
    )
    return value, pos


def _write_elect_leaders_response_v1(out: bytearray, message: ElectLeadersResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    replica_election_results = message.replica_election_results
    write_array_length(out, len(replica_election_results))
    for replica_election_results_item in replica_election_results:
        _write_replica_election_result_v0(out, replica_election_results_item)


def _read_elect_leaders_response_v2(buf: Buffer, pos: int) -> tuple[ElectLeadersResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    replica_election_results: list[ReplicaElectionResult] = []
    for _ in range(count):
        replica_election_results_item, pos = _read_replica_election_result_v2(buf, pos)
        replica_election_results.append(replica_election_results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ElectLeadersResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        replica_election_results=replica_election_results,
    )
    return value, pos


def _write_elect_leaders_response_v2(out: bytearray, message: ElectLeadersResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    replica_election_results = message.replica_election_results
    write_compact_array_length(out, len(replica_election_results))
    for replica_election_results_item in replica_election_results:
        _write_replica_election_result_v2(out, replica_election_results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ElectLeadersResponse, int]], ...]] = (
    _read_elect_leaders_response_v0,
    _read_elect_leaders_response_v1,
    _read_elect_leaders_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ElectLeadersResponse], None], ...]] = (
    _write_elect_leaders_response_v0,
    _write_elect_leaders_response_v1,
    _write_elect_leaders_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ElectLeadersResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("ElectLeadersResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ElectLeadersResponse is cut short") from error


def encode_response_into(out: bytearray, message: ElectLeadersResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("ElectLeadersResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ElectLeadersResponse holds a value out of range: {error}") from error


def encode_response(message: ElectLeadersResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
