"""VoteRequest and VoteResponse.

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
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 52
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_H: Final = struct.Struct(">H")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ihiio: Final = struct.Struct(">ihii?")
_PACKED_iiiiq: Final = struct.Struct(">iiiiq")
_PACKED_iiiuuiq: Final = struct.Struct(">iii16s16siq")
_PACKED_iiiuuiqo: Final = struct.Struct(">iii16s16siq?")


class RequestPartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    replica_epoch: int = 0
    replica_id: int = 0
    replica_directory_id: bytes = ZERO_UUID
    voter_directory_id: bytes = ZERO_UUID
    last_offset_epoch: int = 0
    last_offset: int = 0
    pre_vote: bool = False


class RequestTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[RequestPartitionData] = []


class VoteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    cluster_id: str | None = None
    voter_id: int = -1
    topics: list[RequestTopicData] = []


class ResponsePartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    vote_granted: bool = False


class ResponseTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[ResponsePartitionData] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0


class VoteResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    topics: list[ResponseTopicData] = []
    node_endpoints: list[NodeEndpoint] = []


def _read_request_partition_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index, replica_epoch, replica_id, last_offset_epoch, last_offset = _PACKED_iiiiq.unpack_from(buf, pos)
    pos += 24
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RequestPartitionData(
        partition_index=partition_index,
        replica_epoch=replica_epoch,
        replica_id=replica_id,
        last_offset_epoch=last_offset_epoch,
        last_offset=last_offset,
    )
    return value, pos


def _write_request_partition_data_v0(out: bytearray, message: RequestPartitionData) -> None:
    if message.pre_vote:
        raise unsupported_field("PartitionData.pre_vote", 0, 0)
    out += _PACKED_iiiiq.pack(message.partition_index, message.replica_epoch, message.replica_id, message.last_offset_epoch, message.last_offset)
    out.append(0)


def _read_request_partition_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index, replica_epoch, replica_id, replica_directory_id, voter_directory_id, last_offset_epoch, last_offset = _PACKED_iiiuuiq.unpack_from(buf, pos)
    pos += 56
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RequestPartitionData(
        partition_index=partition_index,
        replica_epoch=replica_epoch,
        replica_id=replica_id,
        replica_directory_id=replica_directory_id,
        voter_directory_id=voter_directory_id,
        last_offset_epoch=last_offset_epoch,
        last_offset=last_offset,
    )
    return value, pos


def _write_request_partition_data_v1(out: bytearray, message: RequestPartitionData) -> None:
    if message.pre_vote:
        raise unsupported_field("PartitionData.pre_vote", 1, 1)
    out += _PACKED_iiiuuiq.pack(message.partition_index, message.replica_epoch, message.replica_id, message.replica_directory_id, message.voter_directory_id, message.last_offset_epoch, message.last_offset)
    out.append(0)


def _read_request_partition_data_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index, replica_epoch, replica_id, replica_directory_id, voter_directory_id, last_offset_epoch, last_offset, pre_vote = _PACKED_iiiuuiqo.unpack_from(buf, pos)
    pos += 57
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RequestPartitionData(
        partition_index=partition_index,
        replica_epoch=replica_epoch,
        replica_id=replica_id,
        replica_directory_id=replica_directory_id,
        voter_directory_id=voter_directory_id,
        last_offset_epoch=last_offset_epoch,
        last_offset=last_offset,
        pre_vote=pre_vote,
    )
    return value, pos


def _write_request_partition_data_v2(out: bytearray, message: RequestPartitionData) -> None:
    out += _PACKED_iiiuuiqo.pack(message.partition_index, message.replica_epoch, message.replica_id, message.replica_directory_id, message.voter_directory_id, message.last_offset_epoch, message.last_offset, message.pre_vote)
    out.append(0)


def _read_request_topic_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 25)
    budget.take(count)
    partitions: list[RequestPartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_data_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_request_topic_data_v0(out: bytearray, message: RequestTopicData) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_request_topic_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 57)
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


def _read_request_topic_data_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 58)
    budget.take(count)
    partitions: list[RequestPartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_data_v2(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_request_topic_data_v2(out: bytearray, message: RequestTopicData) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v2(out, partitions_item)
    out.append(0)


def _read_vote_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[VoteRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return VoteRequest(cluster_id=cluster_id, topics=topics), pos


def _write_vote_request_v0(out: bytearray, message: VoteRequest) -> None:
    write_compact_nullable_string(out, message.cluster_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v0(out, topics_item)
    out.append(0)


def _read_vote_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[VoteRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    voter_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v1(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return VoteRequest(cluster_id=cluster_id, voter_id=voter_id, topics=topics), pos


def _write_vote_request_v1(out: bytearray, message: VoteRequest) -> None:
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.voter_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v1(out, topics_item)
    out.append(0)


def _read_vote_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[VoteRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    voter_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v2(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return VoteRequest(cluster_id=cluster_id, voter_id=voter_id, topics=topics), pos


def _write_vote_request_v2(out: bytearray, message: VoteRequest) -> None:
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.voter_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v2(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[VoteRequest, int]], ...]] = (
    _read_vote_request_v0,
    _read_vote_request_v1,
    _read_vote_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, VoteRequest], None], ...]] = (
    _write_vote_request_v0,
    _write_vote_request_v1,
    _write_vote_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> VoteRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("VoteRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("VoteRequest is cut short") from error


def encode_request_into(out: bytearray, message: VoteRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("VoteRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"VoteRequest holds a value out of range: {error}") from error


def encode_request(message: VoteRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_response_partition_data_v0(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch, vote_granted = _PACKED_ihiio.unpack_from(buf, pos)
    pos += 15
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ResponsePartitionData(
        partition_index=partition_index,
        error_code=error_code,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        vote_granted=vote_granted,
    )
    return value, pos


def _write_response_partition_data_v0(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ihiio.pack(message.partition_index, message.error_code, message.leader_id, message.leader_epoch, message.vote_granted)
    out.append(0)


def _read_response_topic_data_v0(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 16)
    partitions: list[ResponsePartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_response_partition_data_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_response_topic_data_v0(out: bytearray, message: ResponseTopicData) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_response_partition_data_v0(out, partitions_item)
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


def _read_vote_response_v0(buf: Buffer, pos: int) -> tuple[VoteResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v0(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return VoteResponse(error_code=error_code, topics=topics), pos


def _write_vote_response_v0(out: bytearray, message: VoteResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("VoteResponse.node_endpoints", 0, 0)
    out += _PACKED_h.pack(message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v0(out, topics_item)
    out.append(0)


def _read_vote_response_v1(buf: Buffer, pos: int) -> tuple[VoteResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v0(buf, pos)
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
                raise wrong_tag_size("VoteResponse", tag)
    return VoteResponse(error_code=error_code, topics=topics, node_endpoints=node_endpoints), pos


def _write_vote_response_v1(out: bytearray, message: VoteResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v0(out, topics_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.node_endpoints != []:
        value = bytearray()
        node_endpoints = message.node_endpoints
        write_compact_array_length(value, len(node_endpoints))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v1(value, node_endpoints_item)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[VoteResponse, int]], ...]] = (
    _read_vote_response_v0,
    _read_vote_response_v1,
    _read_vote_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, VoteResponse], None], ...]] = (
    _write_vote_response_v0,
    _write_vote_response_v1,
    _write_vote_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> VoteResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("VoteResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("VoteResponse is cut short") from error


def encode_response_into(out: bytearray, message: VoteResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("VoteResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"VoteResponse holds a value out of range: {error}") from error


def encode_response(message: VoteResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
