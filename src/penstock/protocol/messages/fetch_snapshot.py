"""FetchSnapshotRequest and FetchSnapshotResponse.

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
    read_tag,
    read_uvarint,
    required_records,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_records,
    write_compact_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 59
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_H: Final = struct.Struct(">H")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_qi: Final = struct.Struct(">qi")
_PACKED_qq: Final = struct.Struct(">qq")
_PACKED_u: Final = struct.Struct(">16s")


class RequestSnapshotId(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    end_offset: int = 0
    epoch: int = 0


class RequestPartitionSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    current_leader_epoch: int = 0
    snapshot_id: RequestSnapshotId = RequestSnapshotId()
    position: int = 0
    replica_directory_id: bytes = ZERO_UUID


class RequestTopicSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[RequestPartitionSnapshot] = []


class FetchSnapshotRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    cluster_id: str | None = None
    replica_id: int = -1
    max_bytes: int = 2147483647
    topics: list[RequestTopicSnapshot] = []


class ResponseSnapshotId(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    end_offset: int = 0
    epoch: int = 0


class LeaderIdAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    leader_id: int = 0
    leader_epoch: int = 0


class ResponsePartitionSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    index: int = 0
    error_code: int = 0
    snapshot_id: ResponseSnapshotId = ResponseSnapshotId()
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    size: int = 0
    position: int = 0
    unaligned_records: RecordsBuffer | None = None


class ResponseTopicSnapshot(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[ResponsePartitionSnapshot] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0


class FetchSnapshotResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[ResponseTopicSnapshot] = []
    node_endpoints: list[NodeEndpoint] = []


_DEFAULT_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


def _read_request_snapshot_id_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestSnapshotId, int]:
    end_offset, epoch = _PACKED_qi.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestSnapshotId(end_offset=end_offset, epoch=epoch), pos


def _write_request_snapshot_id_v0(out: bytearray, message: RequestSnapshotId) -> None:
    out += _PACKED_qi.pack(message.end_offset, message.epoch)
    out.append(0)


def _read_request_partition_snapshot_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionSnapshot, int]:
    partition, current_leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    snapshot_id, pos = _read_request_snapshot_id_v0(buf, pos, budget)
    position = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RequestPartitionSnapshot(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        snapshot_id=snapshot_id,
        position=position,
    )
    return value, pos


def _write_request_partition_snapshot_v0(out: bytearray, message: RequestPartitionSnapshot) -> None:
    out += _PACKED_ii.pack(message.partition, message.current_leader_epoch)
    _write_request_snapshot_id_v0(out, message.snapshot_id)
    out += _PACKED_q.pack(message.position)
    out.append(0)


def _read_request_partition_snapshot_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionSnapshot, int]:
    partition, current_leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    snapshot_id, pos = _read_request_snapshot_id_v0(buf, pos, budget)
    position = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    replica_directory_id: bytes = ZERO_UUID
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                replica_directory_id = _PACKED_u.unpack_from(buf, pos)[0]
                pos += 16
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionSnapshot", tag)
    value = RequestPartitionSnapshot(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        snapshot_id=snapshot_id,
        position=position,
        replica_directory_id=replica_directory_id,
    )
    return value, pos


def _write_request_partition_snapshot_v1(out: bytearray, message: RequestPartitionSnapshot) -> None:
    out += _PACKED_ii.pack(message.partition, message.current_leader_epoch)
    _write_request_snapshot_id_v0(out, message.snapshot_id)
    out += _PACKED_q.pack(message.position)
    tagged: list[tuple[int, bytearray]] = []
    if message.replica_directory_id != ZERO_UUID:
        value = bytearray()
        value += _PACKED_u.pack(message.replica_directory_id)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_request_topic_snapshot_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicSnapshot, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 30)
    budget.take(count)
    partitions: list[RequestPartitionSnapshot] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_snapshot_v0(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicSnapshot(name=name, partitions=partitions), pos


def _write_request_topic_snapshot_v0(out: bytearray, message: RequestTopicSnapshot) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_snapshot_v0(out, partitions_item)
    out.append(0)


def _read_request_topic_snapshot_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicSnapshot, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 30)
    budget.take(count)
    partitions: list[RequestPartitionSnapshot] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_snapshot_v1(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicSnapshot(name=name, partitions=partitions), pos


def _write_request_topic_snapshot_v1(out: bytearray, message: RequestTopicSnapshot) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_snapshot_v1(out, partitions_item)
    out.append(0)


def _read_fetch_snapshot_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchSnapshotRequest, int]:
    replica_id, max_bytes = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[RequestTopicSnapshot] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_snapshot_v0(buf, pos, budget)
        topics.append(topics_item)
    cluster_id: str | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                cluster_id, pos = read_compact_nullable_string(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("FetchSnapshotRequest", tag)
    value = FetchSnapshotRequest(
        replica_id=replica_id,
        max_bytes=max_bytes,
        topics=topics,
        cluster_id=cluster_id,
    )
    return value, pos


def _write_fetch_snapshot_request_v0(out: bytearray, message: FetchSnapshotRequest) -> None:
    out += _PACKED_ii.pack(message.replica_id, message.max_bytes)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_snapshot_v0(out, topics_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.cluster_id is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.cluster_id)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_fetch_snapshot_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchSnapshotRequest, int]:
    replica_id, max_bytes = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[RequestTopicSnapshot] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_snapshot_v1(buf, pos, budget)
        topics.append(topics_item)
    cluster_id: str | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                cluster_id, pos = read_compact_nullable_string(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("FetchSnapshotRequest", tag)
    value = FetchSnapshotRequest(
        replica_id=replica_id,
        max_bytes=max_bytes,
        topics=topics,
        cluster_id=cluster_id,
    )
    return value, pos


def _write_fetch_snapshot_request_v1(out: bytearray, message: FetchSnapshotRequest) -> None:
    out += _PACKED_ii.pack(message.replica_id, message.max_bytes)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_snapshot_v1(out, topics_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.cluster_id is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.cluster_id)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[FetchSnapshotRequest, int]], ...]] = (
    _read_fetch_snapshot_request_v0,
    _read_fetch_snapshot_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, FetchSnapshotRequest], None], ...]] = (
    _write_fetch_snapshot_request_v0,
    _write_fetch_snapshot_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> FetchSnapshotRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("FetchSnapshotRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FetchSnapshotRequest is cut short") from error


def encode_request_into(out: bytearray, message: FetchSnapshotRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("FetchSnapshotRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"FetchSnapshotRequest holds a value out of range: {error}") from error


def encode_request(message: FetchSnapshotRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_response_snapshot_id_v0(buf: Buffer, pos: int) -> tuple[ResponseSnapshotId, int]:
    end_offset, epoch = _PACKED_qi.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseSnapshotId(end_offset=end_offset, epoch=epoch), pos


def _write_response_snapshot_id_v0(out: bytearray, message: ResponseSnapshotId) -> None:
    out += _PACKED_qi.pack(message.end_offset, message.epoch)
    out.append(0)


def _read_leader_id_and_epoch_v0(buf: Buffer, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch), pos


def _write_leader_id_and_epoch_v0(out: bytearray, message: LeaderIdAndEpoch) -> None:
    out += _PACKED_ii.pack(message.leader_id, message.leader_epoch)
    out.append(0)


def _read_response_partition_snapshot_v0(buf: Buffer, pos: int) -> tuple[ResponsePartitionSnapshot, int]:
    index, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    snapshot_id, pos = _read_response_snapshot_id_v0(buf, pos)
    size, position = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    unaligned_records, pos = read_compact_records(buf, pos)
    current_leader: LeaderIdAndEpoch = _DEFAULT_LEADER_ID_AND_EPOCH
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                current_leader, pos = _read_leader_id_and_epoch_v0(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionSnapshot", tag)
    value = ResponsePartitionSnapshot(
        index=index,
        error_code=error_code,
        snapshot_id=snapshot_id,
        size=size,
        position=position,
        unaligned_records=unaligned_records,
        current_leader=current_leader,
    )
    return value, pos


def _write_response_partition_snapshot_v0(out: bytearray, message: ResponsePartitionSnapshot) -> None:
    out += _PACKED_ih.pack(message.index, message.error_code)
    _write_response_snapshot_id_v0(out, message.snapshot_id)
    out += _PACKED_qq.pack(message.size, message.position)
    write_compact_records(out, required_records(message.unaligned_records, "PartitionSnapshot.unaligned_records"))
    tagged: list[tuple[int, bytearray]] = []
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        value = bytearray()
        _write_leader_id_and_epoch_v0(value, message.current_leader)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_response_topic_snapshot_v0(buf: Buffer, pos: int) -> tuple[ResponseTopicSnapshot, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 37)
    partitions: list[ResponsePartitionSnapshot] = []
    for _ in range(count):
        partitions_item, pos = _read_response_partition_snapshot_v0(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTopicSnapshot(name=name, partitions=partitions), pos


def _write_response_topic_snapshot_v0(out: bytearray, message: ResponseTopicSnapshot) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_response_partition_snapshot_v0(out, partitions_item)
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


def _read_fetch_snapshot_response_v0(buf: Buffer, pos: int) -> tuple[FetchSnapshotResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ResponseTopicSnapshot] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_snapshot_v0(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = FetchSnapshotResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        topics=topics,
    )
    return value, pos


def _write_fetch_snapshot_response_v0(out: bytearray, message: FetchSnapshotResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("FetchSnapshotResponse.node_endpoints", 0, 0)
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_snapshot_v0(out, topics_item)
    out.append(0)


def _read_fetch_snapshot_response_v1(buf: Buffer, pos: int) -> tuple[FetchSnapshotResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[ResponseTopicSnapshot] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_snapshot_v0(buf, pos)
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
                raise wrong_tag_size("FetchSnapshotResponse", tag)
    value = FetchSnapshotResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        topics=topics,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_fetch_snapshot_response_v1(out: bytearray, message: FetchSnapshotResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_snapshot_v0(out, topics_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.node_endpoints != []:
        value = bytearray()
        node_endpoints = message.node_endpoints
        write_compact_array_length(value, len(node_endpoints))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v1(value, node_endpoints_item)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[FetchSnapshotResponse, int]], ...]] = (
    _read_fetch_snapshot_response_v0,
    _read_fetch_snapshot_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, FetchSnapshotResponse], None], ...]] = (
    _write_fetch_snapshot_response_v0,
    _write_fetch_snapshot_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> FetchSnapshotResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("FetchSnapshotResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FetchSnapshotResponse is cut short") from error


def encode_response_into(out: bytearray, message: FetchSnapshotResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("FetchSnapshotResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"FetchSnapshotResponse holds a value out of range: {error}") from error


def encode_response(message: FetchSnapshotResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
