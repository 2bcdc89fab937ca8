"""ShareAcknowledgeRequest and ShareAcknowledgeResponse.

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
    read_int8s,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_int8s,
)

API_KEY: Final = 79
VERSIONS: Final = range(1, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_io: Final = struct.Struct(">i?")
_PACKED_qq: Final = struct.Struct(">qq")
_PACKED_u: Final = struct.Struct(">16s")


class AcknowledgementBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = []


class AcknowledgePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class AcknowledgeTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[AcknowledgePartition] = []


class ShareAcknowledgeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    is_renew_ack: bool = False
    topics: list[AcknowledgeTopic] = []


class LeaderIdAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    leader_id: int = 0
    leader_epoch: int = 0


class PartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()


class ShareAcknowledgeTopicResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


class ShareAcknowledgeResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareAcknowledgeTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []


def _read_acknowledgement_batch_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AcknowledgementBatch, int]:
    first_offset, last_offset = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    acknowledge_types, pos = read_int8s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AcknowledgementBatch(
        first_offset=first_offset,
        last_offset=last_offset,
        acknowledge_types=acknowledge_types,
    )
    return value, pos


def _write_acknowledgement_batch_v1(out: bytearray, message: AcknowledgementBatch) -> None:
    out += _PACKED_qq.pack(message.first_offset, message.last_offset)
    acknowledge_types = message.acknowledge_types
    write_compact_array_length(out, len(acknowledge_types))
    write_int8s(out, acknowledge_types)
    out.append(0)


def _read_acknowledge_partition_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AcknowledgePartition, int]:
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    acknowledgement_batches: list[AcknowledgementBatch] = []
    for _ in range(count):
        acknowledgement_batches_item, pos = _read_acknowledgement_batch_v1(buf, pos, budget)
        acknowledgement_batches.append(acknowledgement_batches_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AcknowledgePartition(
        partition_index=partition_index,
        acknowledgement_batches=acknowledgement_batches,
    )
    return value, pos


def _write_acknowledge_partition_v1(out: bytearray, message: AcknowledgePartition) -> None:
    out += _PACKED_i.pack(message.partition_index)
    acknowledgement_batches = message.acknowledgement_batches
    write_compact_array_length(out, len(acknowledgement_batches))
    for acknowledgement_batches_item in acknowledgement_batches:
        _write_acknowledgement_batch_v1(out, acknowledgement_batches_item)
    out.append(0)


def _read_acknowledge_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AcknowledgeTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 6)
    budget.take(count)
    partitions: list[AcknowledgePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_acknowledge_partition_v1(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AcknowledgeTopic(topic_id=topic_id, partitions=partitions), pos


def _write_acknowledge_topic_v1(out: bytearray, message: AcknowledgeTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_acknowledge_partition_v1(out, partitions_item)
    out.append(0)


def _read_share_acknowledge_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ShareAcknowledgeRequest, int]:
    group_id, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    share_session_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[AcknowledgeTopic] = []
    for _ in range(count):
        topics_item, pos = _read_acknowledge_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ShareAcknowledgeRequest(
        group_id=group_id,
        member_id=member_id,
        share_session_epoch=share_session_epoch,
        topics=topics,
    )
    return value, pos


def _write_share_acknowledge_request_v1(out: bytearray, message: ShareAcknowledgeRequest) -> None:
    if message.is_renew_ack:
        raise unsupported_field("ShareAcknowledgeRequest.is_renew_ack", 1, 1)
    write_compact_nullable_string(out, message.group_id)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_i.pack(message.share_session_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_acknowledge_topic_v1(out, topics_item)
    out.append(0)


def _read_share_acknowledge_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[ShareAcknowledgeRequest, int]:
    group_id, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    share_session_epoch, is_renew_ack = _PACKED_io.unpack_from(buf, pos)
    pos += 5
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[AcknowledgeTopic] = []
    for _ in range(count):
        topics_item, pos = _read_acknowledge_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ShareAcknowledgeRequest(
        group_id=group_id,
        member_id=member_id,
        share_session_epoch=share_session_epoch,
        is_renew_ack=is_renew_ack,
        topics=topics,
    )
    return value, pos


def _write_share_acknowledge_request_v2(out: bytearray, message: ShareAcknowledgeRequest) -> None:
    write_compact_nullable_string(out, message.group_id)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_io.pack(message.share_session_epoch, message.is_renew_ack)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_acknowledge_topic_v1(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ShareAcknowledgeRequest, int]], ...]] = (
    _read_share_acknowledge_request_v1,
    _read_share_acknowledge_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ShareAcknowledgeRequest], None], ...]] = (
    _write_share_acknowledge_request_v1,
    _write_share_acknowledge_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ShareAcknowledgeRequest:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareAcknowledgeRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareAcknowledgeRequest is cut short") from error


def encode_request_into(out: bytearray, message: ShareAcknowledgeRequest, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareAcknowledgeRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareAcknowledgeRequest holds a value out of range: {error}") from error


def encode_request(message: ShareAcknowledgeRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_leader_id_and_epoch_v1(buf: Buffer, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch), pos


def _write_leader_id_and_epoch_v1(out: bytearray, message: LeaderIdAndEpoch) -> None:
    out += _PACKED_ii.pack(message.leader_id, message.leader_epoch)
    out.append(0)


def _read_partition_data_v1(buf: Buffer, pos: int) -> tuple[PartitionData, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    current_leader, pos = _read_leader_id_and_epoch_v1(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionData(
        partition_index=partition_index,
        error_code=error_code,
        error_message=error_message,
        current_leader=current_leader,
    )
    return value, pos


def _write_partition_data_v1(out: bytearray, message: PartitionData) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    _write_leader_id_and_epoch_v1(out, message.current_leader)
    out.append(0)


def _read_share_acknowledge_topic_response_v1(buf: Buffer, pos: int) -> tuple[ShareAcknowledgeTopicResponse, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 17)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v1(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions), pos


def _write_share_acknowledge_topic_response_v1(out: bytearray, message: ShareAcknowledgeTopicResponse) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v1(out, partitions_item)
    out.append(0)


def _read_node_endpoint_v1(buf: Buffer, pos: int) -> tuple[NodeEndpoint, int]:
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    rack, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack), pos


def _write_node_endpoint_v1(out: bytearray, message: NodeEndpoint) -> None:
    out += _PACKED_i.pack(message.node_id)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    write_compact_nullable_string(out, message.rack)
    out.append(0)


def _read_share_acknowledge_response_v1(buf: Buffer, pos: int) -> tuple[ShareAcknowledgeResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 18)
    responses: list[ShareAcknowledgeTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_share_acknowledge_topic_response_v1(buf, pos)
        responses.append(responses_item)
    count, pos = read_compact_array_length(buf, pos, 11)
    node_endpoints: list[NodeEndpoint] = []
    for _ in range(count):
        node_endpoints_item, pos = _read_node_endpoint_v1(buf, pos)
        node_endpoints.append(node_endpoints_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ShareAcknowledgeResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        responses=responses,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_share_acknowledge_response_v1(out: bytearray, message: ShareAcknowledgeResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_share_acknowledge_topic_response_v1(out, responses_item)
    node_endpoints = message.node_endpoints
    write_compact_array_length(out, len(node_endpoints))
    for node_endpoints_item in node_endpoints:
        _write_node_endpoint_v1(out, node_endpoints_item)
    out.append(0)


def _read_share_acknowledge_response_v2(buf: Buffer, pos: int) -> tuple[ShareAcknowledgeResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    acquisition_lock_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 18)
    responses: list[ShareAcknowledgeTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_share_acknowledge_topic_response_v1(buf, pos)
        responses.append(responses_item)
    count, pos = read_compact_array_length(buf, pos, 11)
    node_endpoints: list[NodeEndpoint] = []
    for _ in range(count):
        node_endpoints_item, pos = _read_node_endpoint_v1(buf, pos)
        node_endpoints.append(node_endpoints_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ShareAcknowledgeResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        acquisition_lock_timeout_ms=acquisition_lock_timeout_ms,
        responses=responses,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_share_acknowledge_response_v2(out: bytearray, message: ShareAcknowledgeResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_i.pack(message.acquisition_lock_timeout_ms)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_share_acknowledge_topic_response_v1(out, responses_item)
    node_endpoints = message.node_endpoints
    write_compact_array_length(out, len(node_endpoints))
    for node_endpoints_item in node_endpoints:
        _write_node_endpoint_v1(out, node_endpoints_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareAcknowledgeResponse, int]], ...]] = (
    _read_share_acknowledge_response_v1,
    _read_share_acknowledge_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ShareAcknowledgeResponse], None], ...]] = (
    _write_share_acknowledge_response_v1,
    _write_share_acknowledge_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ShareAcknowledgeResponse:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareAcknowledgeResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareAcknowledgeResponse is cut short") from error


def encode_response_into(out: bytearray, message: ShareAcknowledgeResponse, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareAcknowledgeResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareAcknowledgeResponse holds a value out of range: {error}") from error


def encode_response(message: ShareAcknowledgeResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
