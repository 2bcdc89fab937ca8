"""DescribeQuorumRequest and DescribeQuorumResponse.

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
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 55
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_H: Final = struct.Struct(">H")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ihiiq: Final = struct.Struct(">ihiiq")
_PACKED_iiq: Final = struct.Struct(">iiq")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_iqqq: Final = struct.Struct(">iqqq")
_PACKED_iuqqq: Final = struct.Struct(">i16sqqq")


class RequestPartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0


class RequestTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[RequestPartitionData] = []


class DescribeQuorumRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[RequestTopicData] = []


class ReplicaState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    replica_id: int = 0
    replica_directory_id: bytes = ZERO_UUID
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1


class ResponsePartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: list[ReplicaState] = []
    observers: list[ReplicaState] = []


class ResponseTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    partitions: list[ResponsePartitionData] = []


class Listener(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0


class Node(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    listeners: list[Listener] = []


class DescribeQuorumResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    topics: list[ResponseTopicData] = []
    nodes: list[Node] = []


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
    topic_name, pos = read_compact_string(buf, pos)
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
    return RequestTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_request_topic_data_v0(out: bytearray, message: RequestTopicData) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v0(out, partitions_item)
    out.append(0)


def _read_describe_quorum_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeQuorumRequest, int]:
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
    return DescribeQuorumRequest(topics=topics), pos


def _write_describe_quorum_request_v0(out: bytearray, message: DescribeQuorumRequest) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeQuorumRequest, int]], ...]] = (
    _read_describe_quorum_request_v0,
    _read_describe_quorum_request_v0,
    _read_describe_quorum_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeQuorumRequest], None], ...]] = (
    _write_describe_quorum_request_v0,
    _write_describe_quorum_request_v0,
    _write_describe_quorum_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeQuorumRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeQuorumRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeQuorumRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeQuorumRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeQuorumRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeQuorumRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeQuorumRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_replica_state_v0(buf: Buffer, pos: int) -> tuple[ReplicaState, int]:
    replica_id, log_end_offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ReplicaState(replica_id=replica_id, log_end_offset=log_end_offset), pos


def _write_replica_state_v0(out: bytearray, message: ReplicaState) -> None:
    if message.replica_directory_id != ZERO_UUID:
        raise unsupported_field("ReplicaState.replica_directory_id", 0, 0)
    out += _PACKED_iq.pack(message.replica_id, message.log_end_offset)
    out.append(0)


def _read_replica_state_v1(buf: Buffer, pos: int) -> tuple[ReplicaState, int]:
    replica_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp = _PACKED_iqqq.unpack_from(buf, pos)
    pos += 28
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ReplicaState(
        replica_id=replica_id,
        log_end_offset=log_end_offset,
        last_fetch_timestamp=last_fetch_timestamp,
        last_caught_up_timestamp=last_caught_up_timestamp,
    )
    return value, pos


def _write_replica_state_v1(out: bytearray, message: ReplicaState) -> None:
    if message.replica_directory_id != ZERO_UUID:
        raise unsupported_field("ReplicaState.replica_directory_id", 1, 1)
    out += _PACKED_iqqq.pack(message.replica_id, message.log_end_offset, message.last_fetch_timestamp, message.last_caught_up_timestamp)
    out.append(0)


def _read_replica_state_v2(buf: Buffer, pos: int) -> tuple[ReplicaState, int]:
    replica_id, replica_directory_id, log_end_offset, last_fetch_timestamp, last_caught_up_timestamp = _PACKED_iuqqq.unpack_from(buf, pos)
    pos += 44
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ReplicaState(
        replica_id=replica_id,
        replica_directory_id=replica_directory_id,
        log_end_offset=log_end_offset,
        last_fetch_timestamp=last_fetch_timestamp,
        last_caught_up_timestamp=last_caught_up_timestamp,
    )
    return value, pos


def _write_replica_state_v2(out: bytearray, message: ReplicaState) -> None:
    out += _PACKED_iuqqq.pack(message.replica_id, message.replica_directory_id, message.log_end_offset, message.last_fetch_timestamp, message.last_caught_up_timestamp)
    out.append(0)


def _read_response_partition_data_v0(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch, high_watermark = _PACKED_ihiiq.unpack_from(buf, pos)
    pos += 22
    count, pos = read_compact_array_length(buf, pos, 13)
    current_voters: list[ReplicaState] = []
    for _ in range(count):
        current_voters_item, pos = _read_replica_state_v0(buf, pos)
        current_voters.append(current_voters_item)
    count, pos = read_compact_array_length(buf, pos, 13)
    observers: list[ReplicaState] = []
    for _ in range(count):
        observers_item, pos = _read_replica_state_v0(buf, pos)
        observers.append(observers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ResponsePartitionData(
        partition_index=partition_index,
        error_code=error_code,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        high_watermark=high_watermark,
        current_voters=current_voters,
        observers=observers,
    )
    return value, pos


def _write_response_partition_data_v0(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ihiiq.pack(message.partition_index, message.error_code, message.leader_id, message.leader_epoch, message.high_watermark)
    current_voters = message.current_voters
    write_compact_array_length(out, len(current_voters))
    for current_voters_item in current_voters:
        _write_replica_state_v0(out, current_voters_item)
    observers = message.observers
    write_compact_array_length(out, len(observers))
    for observers_item in observers:
        _write_replica_state_v0(out, observers_item)
    out.append(0)


def _read_response_partition_data_v1(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch, high_watermark = _PACKED_ihiiq.unpack_from(buf, pos)
    pos += 22
    count, pos = read_compact_array_length(buf, pos, 29)
    current_voters: list[ReplicaState] = []
    for _ in range(count):
        current_voters_item, pos = _read_replica_state_v1(buf, pos)
        current_voters.append(current_voters_item)
    count, pos = read_compact_array_length(buf, pos, 29)
    observers: list[ReplicaState] = []
    for _ in range(count):
        observers_item, pos = _read_replica_state_v1(buf, pos)
        observers.append(observers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ResponsePartitionData(
        partition_index=partition_index,
        error_code=error_code,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        high_watermark=high_watermark,
        current_voters=current_voters,
        observers=observers,
    )
    return value, pos


def _write_response_partition_data_v1(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ihiiq.pack(message.partition_index, message.error_code, message.leader_id, message.leader_epoch, message.high_watermark)
    current_voters = message.current_voters
    write_compact_array_length(out, len(current_voters))
    for current_voters_item in current_voters:
        _write_replica_state_v1(out, current_voters_item)
    observers = message.observers
    write_compact_array_length(out, len(observers))
    for observers_item in observers:
        _write_replica_state_v1(out, observers_item)
    out.append(0)


def _read_response_partition_data_v2(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    leader_id, leader_epoch, high_watermark = _PACKED_iiq.unpack_from(buf, pos)
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 45)
    current_voters: list[ReplicaState] = []
    for _ in range(count):
        current_voters_item, pos = _read_replica_state_v2(buf, pos)
        current_voters.append(current_voters_item)
    count, pos = read_compact_array_length(buf, pos, 45)
    observers: list[ReplicaState] = []
    for _ in range(count):
        observers_item, pos = _read_replica_state_v2(buf, pos)
        observers.append(observers_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ResponsePartitionData(
        partition_index=partition_index,
        error_code=error_code,
        error_message=error_message,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        high_watermark=high_watermark,
        current_voters=current_voters,
        observers=observers,
    )
    return value, pos


def _write_response_partition_data_v2(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_iiq.pack(message.leader_id, message.leader_epoch, message.high_watermark)
    current_voters = message.current_voters
    write_compact_array_length(out, len(current_voters))
    for current_voters_item in current_voters:
        _write_replica_state_v2(out, current_voters_item)
    observers = message.observers
    write_compact_array_length(out, len(observers))
    for observers_item in observers:
        _write_replica_state_v2(out, observers_item)
    out.append(0)


def _read_response_topic_data_v0(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 25)
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


def _read_response_topic_data_v1(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 25)
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


def _read_response_topic_data_v2(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 26)
    partitions: list[ResponsePartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_response_partition_data_v2(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTopicData(topic_name=topic_name, partitions=partitions), pos


def _write_response_topic_data_v2(out: bytearray, message: ResponseTopicData) -> None:
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_response_partition_data_v2(out, partitions_item)
    out.append(0)


def _read_listener_v2(buf: Buffer, pos: int) -> tuple[Listener, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Listener(name=name, host=host, port=port), pos


def _write_listener_v2(out: bytearray, message: Listener) -> None:
    write_compact_string(out, message.name)
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_node_v2(buf: Buffer, pos: int) -> tuple[Node, int]:
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    listeners: list[Listener] = []
    for _ in range(count):
        listeners_item, pos = _read_listener_v2(buf, pos)
        listeners.append(listeners_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Node(node_id=node_id, listeners=listeners), pos


def _write_node_v2(out: bytearray, message: Node) -> None:
    out += _PACKED_i.pack(message.node_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v2(out, listeners_item)
    out.append(0)


def _read_describe_quorum_response_v0(buf: Buffer, pos: int) -> tuple[DescribeQuorumResponse, int]:
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
    return DescribeQuorumResponse(error_code=error_code, topics=topics), pos


def _write_describe_quorum_response_v0(out: bytearray, message: DescribeQuorumResponse) -> None:
    if message.nodes != []:
        raise unsupported_field("DescribeQuorumResponse.nodes", 0, 0)
    out += _PACKED_h.pack(message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v0(out, topics_item)
    out.append(0)


def _read_describe_quorum_response_v1(buf: Buffer, pos: int) -> tuple[DescribeQuorumResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v1(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeQuorumResponse(error_code=error_code, topics=topics), pos


def _write_describe_quorum_response_v1(out: bytearray, message: DescribeQuorumResponse) -> None:
    if message.nodes != []:
        raise unsupported_field("DescribeQuorumResponse.nodes", 1, 1)
    out += _PACKED_h.pack(message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v1(out, topics_item)
    out.append(0)


def _read_describe_quorum_response_v2(buf: Buffer, pos: int) -> tuple[DescribeQuorumResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v2(buf, pos)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    nodes: list[Node] = []
    for _ in range(count):
        nodes_item, pos = _read_node_v2(buf, pos)
        nodes.append(nodes_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeQuorumResponse(
        error_code=error_code,
        error_message=error_message,
        topics=topics,
        nodes=nodes,
    )
    return value, pos


def _write_describe_quorum_response_v2(out: bytearray, message: DescribeQuorumResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v2(out, topics_item)
    nodes = message.nodes
    write_compact_array_length(out, len(nodes))
    for nodes_item in nodes:
        _write_node_v2(out, nodes_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeQuorumResponse, int]], ...]] = (
    _read_describe_quorum_response_v0,
    _read_describe_quorum_response_v1,
    _read_describe_quorum_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeQuorumResponse], None], ...]] = (
    _write_describe_quorum_response_v0,
    _write_describe_quorum_response_v1,
    _write_describe_quorum_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeQuorumResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeQuorumResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeQuorumResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeQuorumResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeQuorumResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeQuorumResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeQuorumResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
