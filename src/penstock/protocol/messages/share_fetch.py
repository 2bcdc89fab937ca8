"""ShareFetchRequest and ShareFetchResponse.

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
    RecordsBuffer,
    ZERO_UUID,
    read_compact_array_length,
    read_compact_nullable_string,
    read_compact_records,
    read_compact_string,
    read_int32s,
    read_int8s,
    required_records,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_records,
    write_compact_string,
    write_int32s,
    write_int8s,
)

API_KEY: Final = 78
VERSIONS: Final = range(1, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iiiiii: Final = struct.Struct(">iiiiii")
_PACKED_iiiiiibo: Final = struct.Struct(">iiiiiib?")
_PACKED_qq: Final = struct.Struct(">qq")
_PACKED_qqh: Final = struct.Struct(">qqh")
_PACKED_u: Final = struct.Struct(">16s")


class AcknowledgementBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    acknowledge_types: list[int] = []


class FetchPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    partition_max_bytes: int = 0
    acknowledgement_batches: list[AcknowledgementBatch] = []


class FetchTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class ShareFetchRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str | None = None
    member_id: str | None = ""
    share_session_epoch: int = 0
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    max_records: int = 0
    batch_size: int = 0
    share_acquire_mode: int = 0
    is_renew_ack: bool = False
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []


class LeaderIdAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    leader_id: int = 0
    leader_epoch: int = 0


class AcquiredRecords(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    delivery_count: int = 0


class PartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = None
    acknowledge_error_code: int = 0
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    records: RecordsBuffer | None = None
    acquired_records: list[AcquiredRecords] = []


class ShareFetchableTopicResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


class ShareFetchResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int = 0
    responses: list[ShareFetchableTopicResponse] = []
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


def _read_fetch_partition_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
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
    value = FetchPartition(
        partition_index=partition_index,
        acknowledgement_batches=acknowledgement_batches,
    )
    return value, pos


def _write_fetch_partition_v1(out: bytearray, message: FetchPartition) -> None:
    if message.partition_max_bytes != 0:
        raise unsupported_field("FetchPartition.partition_max_bytes", 1, 2)
    out += _PACKED_i.pack(message.partition_index)
    acknowledgement_batches = message.acknowledgement_batches
    write_compact_array_length(out, len(acknowledgement_batches))
    for acknowledgement_batches_item in acknowledgement_batches:
        _write_acknowledgement_batch_v1(out, acknowledgement_batches_item)
    out.append(0)


def _read_fetch_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 6)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v1(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return FetchTopic(topic_id=topic_id, partitions=partitions), pos


def _write_fetch_topic_v1(out: bytearray, message: FetchTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v1(out, partitions_item)
    out.append(0)


def _read_forgotten_topic_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ForgottenTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ForgottenTopic(topic_id=topic_id, partitions=partitions), pos


def _write_forgotten_topic_v1(out: bytearray, message: ForgottenTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_share_fetch_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ShareFetchRequest, int]:
    group_id, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size = _PACKED_iiiiii.unpack_from(buf, pos)
    pos += 24
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v1(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ShareFetchRequest(
        group_id=group_id,
        member_id=member_id,
        share_session_epoch=share_session_epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        max_records=max_records,
        batch_size=batch_size,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
    )
    return value, pos


def _write_share_fetch_request_v1(out: bytearray, message: ShareFetchRequest) -> None:
    if message.is_renew_ack:
        raise unsupported_field("ShareFetchRequest.is_renew_ack", 1, 1)
    write_compact_nullable_string(out, message.group_id)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_iiiiii.pack(message.share_session_epoch, message.max_wait_ms, message.min_bytes, message.max_bytes, message.max_records, message.batch_size)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v1(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_compact_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v1(out, forgotten_topics_data_item)
    out.append(0)


def _read_share_fetch_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[ShareFetchRequest, int]:
    group_id, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    share_session_epoch, max_wait_ms, min_bytes, max_bytes, max_records, batch_size, share_acquire_mode, is_renew_ack = _PACKED_iiiiiibo.unpack_from(buf, pos)
    pos += 26
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v1(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v1(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ShareFetchRequest(
        group_id=group_id,
        member_id=member_id,
        share_session_epoch=share_session_epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        max_records=max_records,
        batch_size=batch_size,
        share_acquire_mode=share_acquire_mode,
        is_renew_ack=is_renew_ack,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
    )
    return value, pos


def _write_share_fetch_request_v2(out: bytearray, message: ShareFetchRequest) -> None:
    write_compact_nullable_string(out, message.group_id)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_iiiiiibo.pack(message.share_session_epoch, message.max_wait_ms, message.min_bytes, message.max_bytes, message.max_records, message.batch_size, message.share_acquire_mode, message.is_renew_ack)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v1(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_compact_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v1(out, forgotten_topics_data_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ShareFetchRequest, int]], ...]] = (
    _read_share_fetch_request_v1,
    _read_share_fetch_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ShareFetchRequest], None], ...]] = (
    _write_share_fetch_request_v1,
    _write_share_fetch_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ShareFetchRequest:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareFetchRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareFetchRequest is cut short") from error


def encode_request_into(out: bytearray, message: ShareFetchRequest, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareFetchRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareFetchRequest holds a value out of range: {error}") from error


def encode_request(message: ShareFetchRequest, version: int) -> bytes:
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


def _read_acquired_records_v1(buf: Buffer, pos: int) -> tuple[AcquiredRecords, int]:
    first_offset, last_offset, delivery_count = _PACKED_qqh.unpack_from(buf, pos)
    pos += 18
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AcquiredRecords(
        first_offset=first_offset,
        last_offset=last_offset,
        delivery_count=delivery_count,
    )
    return value, pos


def _write_acquired_records_v1(out: bytearray, message: AcquiredRecords) -> None:
    out += _PACKED_qqh.pack(message.first_offset, message.last_offset, message.delivery_count)
    out.append(0)


def _read_partition_data_v1(buf: Buffer, pos: int) -> tuple[PartitionData, int]:
    partition_index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    acknowledge_error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    acknowledge_error_message, pos = read_compact_nullable_string(buf, pos)
    current_leader, pos = _read_leader_id_and_epoch_v1(buf, pos)
    records, pos = read_compact_records(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 19)
    acquired_records: list[AcquiredRecords] = []
    for _ in range(count):
        acquired_records_item, pos = _read_acquired_records_v1(buf, pos)
        acquired_records.append(acquired_records_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionData(
        partition_index=partition_index,
        error_code=error_code,
        error_message=error_message,
        acknowledge_error_code=acknowledge_error_code,
        acknowledge_error_message=acknowledge_error_message,
        current_leader=current_leader,
        records=records,
        acquired_records=acquired_records,
    )
    return value, pos


def _write_partition_data_v1(out: bytearray, message: PartitionData) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_h.pack(message.acknowledge_error_code)
    write_compact_nullable_string(out, message.acknowledge_error_message)
    _write_leader_id_and_epoch_v1(out, message.current_leader)
    write_compact_records(out, required_records(message.records, "PartitionData.records"))
    acquired_records = message.acquired_records
    write_compact_array_length(out, len(acquired_records))
    for acquired_records_item in acquired_records:
        _write_acquired_records_v1(out, acquired_records_item)
    out.append(0)


def _read_share_fetchable_topic_response_v1(buf: Buffer, pos: int) -> tuple[ShareFetchableTopicResponse, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 22)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v1(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions), pos


def _write_share_fetchable_topic_response_v1(out: bytearray, message: ShareFetchableTopicResponse) -> None:
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


def _read_share_fetch_response_v1(buf: Buffer, pos: int) -> tuple[ShareFetchResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    acquisition_lock_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 18)
    responses: list[ShareFetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_share_fetchable_topic_response_v1(buf, pos)
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
    value = ShareFetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        acquisition_lock_timeout_ms=acquisition_lock_timeout_ms,
        responses=responses,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_share_fetch_response_v1(out: bytearray, message: ShareFetchResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_i.pack(message.acquisition_lock_timeout_ms)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_share_fetchable_topic_response_v1(out, responses_item)
    node_endpoints = message.node_endpoints
    write_compact_array_length(out, len(node_endpoints))
    for node_endpoints_item in node_endpoints:
        _write_node_endpoint_v1(out, node_endpoints_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareFetchResponse, int]], ...]] = (
    _read_share_fetch_response_v1,
    _read_share_fetch_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ShareFetchResponse], None], ...]] = (
    _write_share_fetch_response_v1,
    _write_share_fetch_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ShareFetchResponse:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareFetchResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareFetchResponse is cut short") from error


def encode_response_into(out: bytearray, message: ShareFetchResponse, version: int) -> None:
    if not 1 <= version <= 2:
        raise unsupported_version("ShareFetchResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareFetchResponse holds a value out of range: {error}") from error


def encode_response(message: ShareFetchResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
