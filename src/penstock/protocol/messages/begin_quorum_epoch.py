"""BeginQuorumEpochRequest and BeginQuorumEpochResponse.

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
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 53
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 1

_PACKED_H: Final = struct.Struct(">H")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ihii: Final = struct.Struct(">ihii")
_PACKED_iii: Final = struct.Struct(">iii")
_PACKED_iuii: Final = struct.Struct(">i16sii")


class RequestPartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    voter_directory_id: bytes = ZERO_UUID
    leader_id: int = 0
    leader_epoch: int = 0


class RequestTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[RequestPartitionData] = []


class LeaderEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0


class BeginQuorumEpochRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    cluster_id: str | None = None
    voter_id: int = -1
    topics: list[RequestTopicData] = []
    leader_endpoints: list[LeaderEndpoint] = []


class ResponsePartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0


class ResponseTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[ResponsePartitionData] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0


class BeginQuorumEpochResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: list[NodeEndpoint] = []


def _read_request_partition_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index, leader_id, leader_epoch = _PACKED_iii.unpack_from(buf, pos)
    pos += 12
    value = RequestPartitionData(
        partition_index=partition_index,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_request_partition_data_v0(out: bytearray, message: RequestPartitionData) -> None:
    out += _PACKED_iii.pack(message.partition_index, message.leader_id, message.leader_epoch)


def _read_request_partition_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index, voter_directory_id, leader_id, leader_epoch = _PACKED_iuii.unpack_from(buf, pos)
    pos += 28
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RequestPartitionData(
        partition_index=partition_index,
        voter_directory_id=voter_directory_id,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_request_partition_data_v1(out: bytearray, message: RequestPartitionData) -> None:
    out += _PACKED_iuii.pack(message.partition_index, message.voter_directory_id, message.leader_id, message.leader_epoch)
    out.append(0)


def _read_request_topic_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 12)
    budget.take(count)
    partitions: list[RequestPartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    return RequestTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_request_topic_data_v0(out: bytearray, message: RequestTopicData) -> None:
    write_string(out, message.topic_name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v0(out, partitions_item)


def _read_request_topic_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 29)
    budget.take(count)
    partitions: list[RequestPartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_data_v1(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_request_topic_data_v1(out: bytearray, message: RequestTopicData) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v1(out, partitions_item)
    out.append(0)


def _read_leader_endpoint_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[LeaderEndpoint, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return LeaderEndpoint(name=name, host=host, port=port), pos


def _write_leader_endpoint_v1(out: bytearray, message: LeaderEndpoint) -> None:
    write_compact_string(out, message.name)
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_begin_quorum_epoch_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[BeginQuorumEpochRequest, int]:
    cluster_id, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    return BeginQuorumEpochRequest(cluster_id=cluster_id, topics=topics), pos


def _write_begin_quorum_epoch_request_v0(out: bytearray, message: BeginQuorumEpochRequest) -> None:
    write_nullable_string(out, message.cluster_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v0(out, topics_item)


def _read_begin_quorum_epoch_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[BeginQuorumEpochRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    voter_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    leader_endpoints: list[LeaderEndpoint] = []
    for _ in range(count):
        leader_endpoints_item, pos = _read_leader_endpoint_v1(buf, pos, budget)
        leader_endpoints.append(leader_endpoints_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=voter_id,
        topics=topics,
        leader_endpoints=leader_endpoints,
    )
    return value, pos


def _write_begin_quorum_epoch_request_v1(out: bytearray, message: BeginQuorumEpochRequest) -> None:
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.voter_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v1(out, topics_item)
    leader_endpoints = message.leader_endpoints
    write_compact_array_length(out, len(leader_endpoints))
    for leader_endpoints_item in leader_endpoints:
        _write_leader_endpoint_v1(out, leader_endpoints_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[BeginQuorumEpochRequest, int]], ...]] = (
    _read_begin_quorum_epoch_request_v0,
    _read_begin_quorum_epoch_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, BeginQuorumEpochRequest], None], ...]] = (
    _write_begin_quorum_epoch_request_v0,
    _write_begin_quorum_epoch_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> BeginQuorumEpochRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("BeginQuorumEpochRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BeginQuorumEpochRequest is cut short") from error


def encode_request_into(out: bytearray, message: BeginQuorumEpochRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("BeginQuorumEpochRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BeginQuorumEpochRequest holds a value out of range: {error}") from error


def encode_request(message: BeginQuorumEpochRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_response_partition_data_v0(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _PACKED_ihii.unpack_from(buf, pos)
    pos += 14
    value = ResponsePartitionData(
        partition_index=partition_index,
        error_code=error_code,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_response_partition_data_v0(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ihii.pack(message.partition_index, message.error_code, message.leader_id, message.leader_epoch)


def _read_response_partition_data_v1(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _PACKED_ihii.unpack_from(buf, pos)
    pos += 14
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ResponsePartitionData(
        partition_index=partition_index,
        error_code=error_code,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
    )
    return value, pos


def _write_response_partition_data_v1(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ihii.pack(message.partition_index, message.error_code, message.leader_id, message.leader_epoch)
    out.append(0)


def _read_response_topic_data_v0(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    partitions: list[ResponsePartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_response_partition_data_v0(buf, pos)
        partitions.append(partitions_item)
    return ResponseTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_response_topic_data_v0(out: bytearray, message: ResponseTopicData) -> None:
    write_string(out, message.topic_name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_response_partition_data_v0(out, partitions_item)


def _read_response_topic_data_v1(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 15)
    partitions: list[ResponsePartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_response_partition_data_v1(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_response_topic_data_v1(out: bytearray, message: ResponseTopicData) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_response_partition_data_v1(out, partitions_item)
    out.append(0)


def _read_node_endpoint_v1(buf: Buffer, pos: int) -> tuple[NodeEndpoint, int]:
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return NodeEndpoint(node_id=node_id, host=host, port=port), pos


def _write_node_endpoint_v1(out: bytearray, message: NodeEndpoint) -> None:
    out += _PACKED_i.pack(message.node_id)
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_begin_quorum_epoch_response_v0(buf: Buffer, pos: int) -> tuple[BeginQuorumEpochResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_array_length(buf, pos, 6)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v0(buf, pos)
        topics.append(topics_item)
    return BeginQuorumEpochResponse(error_code=error_code, topics=topics), pos


def _write_begin_quorum_epoch_response_v0(out: bytearray, message: BeginQuorumEpochResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("BeginQuorumEpochResponse.node_endpoints", 0, 0)
    out += _PACKED_h.pack(message.error_code)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v0(out, topics_item)


def _read_begin_quorum_epoch_response_v1(buf: Buffer, pos: int) -> tuple[BeginQuorumEpochResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v1(buf, pos)
        topics.append(topics_item)
    node_endpoints: list[NodeEndpoint] = []
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 8)
                node_endpoints = []
                for _ in range(count):
                    node_endpoints_item, pos = _read_node_endpoint_v1(buf, pos)
                    node_endpoints.append(node_endpoints_item)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("BeginQuorumEpochResponse", tag)
    value = BeginQuorumEpochResponse(
        error_code=error_code,
        topics=topics,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_begin_quorum_epoch_response_v1(out: bytearray, message: BeginQuorumEpochResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v1(out, topics_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.node_endpoints != []:
        value = bytearray()
        node_endpoints = message.node_endpoints
        write_compact_array_length(value, len(node_endpoints))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v1(value, node_endpoints_item)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[BeginQuorumEpochResponse, int]], ...]] = (
    _read_begin_quorum_epoch_response_v0,
    _read_begin_quorum_epoch_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, BeginQuorumEpochResponse], None], ...]] = (
    _write_begin_quorum_epoch_response_v0,
    _write_begin_quorum_epoch_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> BeginQuorumEpochResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("BeginQuorumEpochResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BeginQuorumEpochResponse is cut short") from error


def encode_response_into(out: bytearray, message: BeginQuorumEpochResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("BeginQuorumEpochResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BeginQuorumEpochResponse holds a value out of range: {error}") from error


def encode_response(message: BeginQuorumEpochResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
