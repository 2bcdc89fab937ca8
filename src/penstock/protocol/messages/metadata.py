"""MetadataRequest and MetadataResponse.

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
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_nullable_array_length,
    read_nullable_string,
    read_string,
    required,
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

API_KEY: Final = 3
VERSIONS: Final = range(0, 14)
FLEXIBLE_FROM: Final = 9

_PACKED_h: Final = struct.Struct(">h")
_PACKED_hii: Final = struct.Struct(">hii")
_PACKED_hiii: Final = struct.Struct(">hiii")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_oo: Final = struct.Struct(">??")
_PACKED_ooo: Final = struct.Struct(">???")
_PACKED_u: Final = struct.Struct(">16s")
_PACKED_uo: Final = struct.Struct(">16s?")


class MetadataRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    name: str | None = ""


class MetadataRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[MetadataRequestTopic] | None = []
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False


class MetadataResponseBroker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


class MetadataResponsePartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: list[int] = []
    isr_nodes: list[int] = []
    offline_replicas: list[int] = []


class MetadataResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    partitions: list[MetadataResponsePartition] = []
    topic_authorized_operations: int = -2147483648


class MetadataResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    brokers: list[MetadataResponseBroker] = []
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponseTopic] = []
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0


def _read_metadata_request_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequestTopic, int]:
    name, pos = read_string(buf, pos)
    return MetadataRequestTopic(name=name), pos


def _write_metadata_request_topic_v0(out: bytearray, message: MetadataRequestTopic) -> None:
    write_string(out, required(message.name, "MetadataRequestTopic.name"))


def _read_metadata_request_topic_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequestTopic, int]:
    name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return MetadataRequestTopic(name=name), pos


def _write_metadata_request_topic_v9(out: bytearray, message: MetadataRequestTopic) -> None:
    write_compact_string(out, required(message.name, "MetadataRequestTopic.name"))
    out.append(0)


def _read_metadata_request_topic_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequestTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    name, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return MetadataRequestTopic(topic_id=topic_id, name=name), pos


def _write_metadata_request_topic_v10(out: bytearray, message: MetadataRequestTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    write_compact_nullable_string(out, message.name)
    out.append(0)


def _read_metadata_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    count, pos = read_array_length(buf, pos, 2)
    budget.take(count)
    topics: list[MetadataRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    return MetadataRequest(topics=topics), pos


def _write_metadata_request_v0(out: bytearray, message: MetadataRequest) -> None:
    if not message.allow_auto_topic_creation:
        raise unsupported_field("MetadataRequest.allow_auto_topic_creation", 0, 0)
    if message.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest.include_cluster_authorized_operations", 0, 0)
    if message.include_topic_authorized_operations:
        raise unsupported_field("MetadataRequest.include_topic_authorized_operations", 0, 0)
    topics = required(message.topics, "MetadataRequest.topics")
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_request_topic_v0(out, topics_item)


def _read_metadata_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    count, pos = read_nullable_array_length(buf, pos, 2)
    budget.take(count)
    topics: list[MetadataRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_metadata_request_topic_v0(buf, pos, budget)
            topics.append(topics_item)
    return MetadataRequest(topics=topics), pos


def _write_metadata_request_v1(out: bytearray, message: MetadataRequest) -> None:
    if not message.allow_auto_topic_creation:
        raise unsupported_field("MetadataRequest.allow_auto_topic_creation", 1, 3)
    if message.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest.include_cluster_authorized_operations", 1, 3)
    if message.include_topic_authorized_operations:
        raise unsupported_field("MetadataRequest.include_topic_authorized_operations", 1, 3)
    topics = message.topics
    if topics is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(topics))
        for topics_item in topics:
            _write_metadata_request_topic_v0(out, topics_item)


def _read_metadata_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    count, pos = read_nullable_array_length(buf, pos, 2)
    budget.take(count)
    topics: list[MetadataRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_metadata_request_topic_v0(buf, pos, budget)
            topics.append(topics_item)
    allow_auto_topic_creation = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    return MetadataRequest(topics=topics, allow_auto_topic_creation=allow_auto_topic_creation), pos


def _write_metadata_request_v4(out: bytearray, message: MetadataRequest) -> None:
    if message.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest.include_cluster_authorized_operations", 4, 7)
    if message.include_topic_authorized_operations:
        raise unsupported_field("MetadataRequest.include_topic_authorized_operations", 4, 7)
    topics = message.topics
    if topics is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(topics))
        for topics_item in topics:
            _write_metadata_request_topic_v0(out, topics_item)
    out += _PACKED_o.pack(message.allow_auto_topic_creation)


def _read_metadata_request_v8(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    count, pos = read_nullable_array_length(buf, pos, 2)
    budget.take(count)
    topics: list[MetadataRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_metadata_request_topic_v0(buf, pos, budget)
            topics.append(topics_item)
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _PACKED_ooo.unpack_from(buf, pos)
    pos += 3
    value = MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=allow_auto_topic_creation,
        include_cluster_authorized_operations=include_cluster_authorized_operations,
        include_topic_authorized_operations=include_topic_authorized_operations,
    )
    return value, pos


def _write_metadata_request_v8(out: bytearray, message: MetadataRequest) -> None:
    topics = message.topics
    if topics is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(topics))
        for topics_item in topics:
            _write_metadata_request_topic_v0(out, topics_item)
    out += _PACKED_ooo.pack(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations)


def _read_metadata_request_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    count, pos = read_compact_nullable_array_length(buf, pos, 2)
    budget.take(count)
    topics: list[MetadataRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_metadata_request_topic_v9(buf, pos, budget)
            topics.append(topics_item)
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _PACKED_ooo.unpack_from(buf, pos)
    pos += 3
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=allow_auto_topic_creation,
        include_cluster_authorized_operations=include_cluster_authorized_operations,
        include_topic_authorized_operations=include_topic_authorized_operations,
    )
    return value, pos


def _write_metadata_request_v9(out: bytearray, message: MetadataRequest) -> None:
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_metadata_request_topic_v9(out, topics_item)
    out += _PACKED_ooo.pack(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations)
    out.append(0)


def _read_metadata_request_v10(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    count, pos = read_compact_nullable_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[MetadataRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_metadata_request_topic_v10(buf, pos, budget)
            topics.append(topics_item)
    allow_auto_topic_creation, include_cluster_authorized_operations, include_topic_authorized_operations = _PACKED_ooo.unpack_from(buf, pos)
    pos += 3
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=allow_auto_topic_creation,
        include_cluster_authorized_operations=include_cluster_authorized_operations,
        include_topic_authorized_operations=include_topic_authorized_operations,
    )
    return value, pos


def _write_metadata_request_v10(out: bytearray, message: MetadataRequest) -> None:
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_metadata_request_topic_v10(out, topics_item)
    out += _PACKED_ooo.pack(message.allow_auto_topic_creation, message.include_cluster_authorized_operations, message.include_topic_authorized_operations)
    out.append(0)


def _read_metadata_request_v11(buf: Buffer, pos: int, budget: Budget) -> tuple[MetadataRequest, int]:
    count, pos = read_compact_nullable_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[MetadataRequestTopic] | None = None
    if count >= 0:
        topics = []
        for _ in range(count):
            topics_item, pos = _read_metadata_request_topic_v10(buf, pos, budget)
            topics.append(topics_item)
    allow_auto_topic_creation, include_topic_authorized_operations = _PACKED_oo.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=allow_auto_topic_creation,
        include_topic_authorized_operations=include_topic_authorized_operations,
    )
    return value, pos


def _write_metadata_request_v11(out: bytearray, message: MetadataRequest) -> None:
    if message.include_cluster_authorized_operations:
        raise unsupported_field("MetadataRequest.include_cluster_authorized_operations", 11, 13)
    topics = message.topics
    if topics is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topics))
        for topics_item in topics:
            _write_metadata_request_topic_v10(out, topics_item)
    out += _PACKED_oo.pack(message.allow_auto_topic_creation, message.include_topic_authorized_operations)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[MetadataRequest, int]], ...]] = (
    _read_metadata_request_v0,
    _read_metadata_request_v1,
    _read_metadata_request_v1,
    _read_metadata_request_v1,
    _read_metadata_request_v4,
    _read_metadata_request_v4,
    _read_metadata_request_v4,
    _read_metadata_request_v4,
    _read_metadata_request_v8,
    _read_metadata_request_v9,
    _read_metadata_request_v10,
    _read_metadata_request_v11,
    _read_metadata_request_v11,
    _read_metadata_request_v11,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, MetadataRequest], None], ...]] = (
    _write_metadata_request_v0,
    _write_metadata_request_v1,
    _write_metadata_request_v1,
    _write_metadata_request_v1,
    _write_metadata_request_v4,
    _write_metadata_request_v4,
    _write_metadata_request_v4,
    _write_metadata_request_v4,
    _write_metadata_request_v8,
    _write_metadata_request_v9,
    _write_metadata_request_v10,
    _write_metadata_request_v11,
    _write_metadata_request_v11,
    _write_metadata_request_v11,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> MetadataRequest:
    if not 0 <= version <= 13:
        raise unsupported_version("MetadataRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("MetadataRequest is cut short") from error


def encode_request_into(out: bytearray, message: MetadataRequest, version: int) -> None:
    if not 0 <= version <= 13:
        raise unsupported_version("MetadataRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"MetadataRequest holds a value out of range: {error}") from error


def encode_request(message: MetadataRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_metadata_response_broker_v0(buf: Buffer, pos: int) -> tuple[MetadataResponseBroker, int]:
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return MetadataResponseBroker(node_id=node_id, host=host, port=port), pos


def _write_metadata_response_broker_v0(out: bytearray, message: MetadataResponseBroker) -> None:
    out += _PACKED_i.pack(message.node_id)
    write_string(out, message.host)
    out += _PACKED_i.pack(message.port)


def _read_metadata_response_broker_v1(buf: Buffer, pos: int) -> tuple[MetadataResponseBroker, int]:
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    rack, pos = read_nullable_string(buf, pos)
    return MetadataResponseBroker(node_id=node_id, host=host, port=port, rack=rack), pos


def _write_metadata_response_broker_v1(out: bytearray, message: MetadataResponseBroker) -> None:
    out += _PACKED_i.pack(message.node_id)
    write_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    write_nullable_string(out, message.rack)


def _read_metadata_response_broker_v9(buf: Buffer, pos: int) -> tuple[MetadataResponseBroker, int]:
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
    return MetadataResponseBroker(node_id=node_id, host=host, port=port, rack=rack), pos


def _write_metadata_response_broker_v9(out: bytearray, message: MetadataResponseBroker) -> None:
    out += _PACKED_i.pack(message.node_id)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    write_compact_nullable_string(out, message.rack)
    out.append(0)


def _read_metadata_response_partition_v0(buf: Buffer, pos: int) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id = _PACKED_hii.unpack_from(buf, pos)
    pos += 10
    count, pos = read_array_length(buf, pos, 4)
    replica_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_array_length(buf, pos, 4)
    isr_nodes, pos = read_int32s(buf, pos, count)
    value = MetadataResponsePartition(
        error_code=error_code,
        partition_index=partition_index,
        leader_id=leader_id,
        replica_nodes=replica_nodes,
        isr_nodes=isr_nodes,
    )
    return value, pos


def _write_metadata_response_partition_v0(out: bytearray, message: MetadataResponsePartition) -> None:
    out += _PACKED_hii.pack(message.error_code, message.partition_index, message.leader_id)
    replica_nodes = message.replica_nodes
    write_array_length(out, len(replica_nodes))
    write_int32s(out, replica_nodes)
    isr_nodes = message.isr_nodes
    write_array_length(out, len(isr_nodes))
    write_int32s(out, isr_nodes)


def _read_metadata_response_partition_v5(buf: Buffer, pos: int) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id = _PACKED_hii.unpack_from(buf, pos)
    pos += 10
    count, pos = read_array_length(buf, pos, 4)
    replica_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_array_length(buf, pos, 4)
    isr_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_array_length(buf, pos, 4)
    offline_replicas, pos = read_int32s(buf, pos, count)
    value = MetadataResponsePartition(
        error_code=error_code,
        partition_index=partition_index,
        leader_id=leader_id,
        replica_nodes=replica_nodes,
        isr_nodes=isr_nodes,
        offline_replicas=offline_replicas,
    )
    return value, pos


def _write_metadata_response_partition_v5(out: bytearray, message: MetadataResponsePartition) -> None:
    out += _PACKED_hii.pack(message.error_code, message.partition_index, message.leader_id)
    replica_nodes = message.replica_nodes
    write_array_length(out, len(replica_nodes))
    write_int32s(out, replica_nodes)
    isr_nodes = message.isr_nodes
    write_array_length(out, len(isr_nodes))
    write_int32s(out, isr_nodes)
    offline_replicas = message.offline_replicas
    write_array_length(out, len(offline_replicas))
    write_int32s(out, offline_replicas)


def _read_metadata_response_partition_v7(buf: Buffer, pos: int) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id, leader_epoch = _PACKED_hiii.unpack_from(buf, pos)
    pos += 14
    count, pos = read_array_length(buf, pos, 4)
    replica_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_array_length(buf, pos, 4)
    isr_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_array_length(buf, pos, 4)
    offline_replicas, pos = read_int32s(buf, pos, count)
    value = MetadataResponsePartition(
        error_code=error_code,
        partition_index=partition_index,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        replica_nodes=replica_nodes,
        isr_nodes=isr_nodes,
        offline_replicas=offline_replicas,
    )
    return value, pos


def _write_metadata_response_partition_v7(out: bytearray, message: MetadataResponsePartition) -> None:
    out += _PACKED_hiii.pack(message.error_code, message.partition_index, message.leader_id, message.leader_epoch)
    replica_nodes = message.replica_nodes
    write_array_length(out, len(replica_nodes))
    write_int32s(out, replica_nodes)
    isr_nodes = message.isr_nodes
    write_array_length(out, len(isr_nodes))
    write_int32s(out, isr_nodes)
    offline_replicas = message.offline_replicas
    write_array_length(out, len(offline_replicas))
    write_int32s(out, offline_replicas)


def _read_metadata_response_partition_v9(buf: Buffer, pos: int) -> tuple[MetadataResponsePartition, int]:
    error_code, partition_index, leader_id, leader_epoch = _PACKED_hiii.unpack_from(buf, pos)
    pos += 14
    count, pos = read_compact_array_length(buf, pos, 4)
    replica_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    isr_nodes, pos = read_int32s(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 4)
    offline_replicas, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponsePartition(
        error_code=error_code,
        partition_index=partition_index,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        replica_nodes=replica_nodes,
        isr_nodes=isr_nodes,
        offline_replicas=offline_replicas,
    )
    return value, pos


def _write_metadata_response_partition_v9(out: bytearray, message: MetadataResponsePartition) -> None:
    out += _PACKED_hiii.pack(message.error_code, message.partition_index, message.leader_id, message.leader_epoch)
    replica_nodes = message.replica_nodes
    write_compact_array_length(out, len(replica_nodes))
    write_int32s(out, replica_nodes)
    isr_nodes = message.isr_nodes
    write_compact_array_length(out, len(isr_nodes))
    write_int32s(out, isr_nodes)
    offline_replicas = message.offline_replicas
    write_compact_array_length(out, len(offline_replicas))
    write_int32s(out, offline_replicas)
    out.append(0)


def _read_metadata_response_topic_v0(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 18)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v0(buf, pos)
        partitions.append(partitions_item)
    return MetadataResponseTopic(error_code=error_code, name=name, partitions=partitions), pos


def _write_metadata_response_topic_v0(out: bytearray, message: MetadataResponseTopic) -> None:
    if message.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponseTopic.topic_authorized_operations", 0, 0)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, required(message.name, "MetadataResponseTopic.name"))
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v0(out, partitions_item)


def _read_metadata_response_topic_v1(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_string(buf, pos)
    is_internal = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_array_length(buf, pos, 18)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v0(buf, pos)
        partitions.append(partitions_item)
    value = MetadataResponseTopic(
        error_code=error_code,
        name=name,
        is_internal=is_internal,
        partitions=partitions,
    )
    return value, pos


def _write_metadata_response_topic_v1(out: bytearray, message: MetadataResponseTopic) -> None:
    if message.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponseTopic.topic_authorized_operations", 1, 4)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, required(message.name, "MetadataResponseTopic.name"))
    out += _PACKED_o.pack(message.is_internal)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v0(out, partitions_item)


def _read_metadata_response_topic_v5(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_string(buf, pos)
    is_internal = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_array_length(buf, pos, 22)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v5(buf, pos)
        partitions.append(partitions_item)
    value = MetadataResponseTopic(
        error_code=error_code,
        name=name,
        is_internal=is_internal,
        partitions=partitions,
    )
    return value, pos


def _write_metadata_response_topic_v5(out: bytearray, message: MetadataResponseTopic) -> None:
    if message.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponseTopic.topic_authorized_operations", 5, 6)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, required(message.name, "MetadataResponseTopic.name"))
    out += _PACKED_o.pack(message.is_internal)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v5(out, partitions_item)


def _read_metadata_response_topic_v7(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_string(buf, pos)
    is_internal = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_array_length(buf, pos, 26)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v7(buf, pos)
        partitions.append(partitions_item)
    value = MetadataResponseTopic(
        error_code=error_code,
        name=name,
        is_internal=is_internal,
        partitions=partitions,
    )
    return value, pos


def _write_metadata_response_topic_v7(out: bytearray, message: MetadataResponseTopic) -> None:
    if message.topic_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponseTopic.topic_authorized_operations", 7, 7)
    out += _PACKED_h.pack(message.error_code)
    write_string(out, required(message.name, "MetadataResponseTopic.name"))
    out += _PACKED_o.pack(message.is_internal)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v7(out, partitions_item)


def _read_metadata_response_topic_v8(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_string(buf, pos)
    is_internal = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_array_length(buf, pos, 26)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v7(buf, pos)
        partitions.append(partitions_item)
    topic_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = MetadataResponseTopic(
        error_code=error_code,
        name=name,
        is_internal=is_internal,
        partitions=partitions,
        topic_authorized_operations=topic_authorized_operations,
    )
    return value, pos


def _write_metadata_response_topic_v8(out: bytearray, message: MetadataResponseTopic) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_string(out, required(message.name, "MetadataResponseTopic.name"))
    out += _PACKED_o.pack(message.is_internal)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v7(out, partitions_item)
    out += _PACKED_i.pack(message.topic_authorized_operations)


def _read_metadata_response_topic_v9(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_compact_string(buf, pos)
    is_internal = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_compact_array_length(buf, pos, 18)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v9(buf, pos)
        partitions.append(partitions_item)
    topic_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponseTopic(
        error_code=error_code,
        name=name,
        is_internal=is_internal,
        partitions=partitions,
        topic_authorized_operations=topic_authorized_operations,
    )
    return value, pos


def _write_metadata_response_topic_v9(out: bytearray, message: MetadataResponseTopic) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, required(message.name, "MetadataResponseTopic.name"))
    out += _PACKED_o.pack(message.is_internal)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v9(out, partitions_item)
    out += _PACKED_i.pack(message.topic_authorized_operations)
    out.append(0)


def _read_metadata_response_topic_v10(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_compact_string(buf, pos)
    topic_id, is_internal = _PACKED_uo.unpack_from(buf, pos)
    pos += 17
    count, pos = read_compact_array_length(buf, pos, 18)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v9(buf, pos)
        partitions.append(partitions_item)
    topic_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponseTopic(
        error_code=error_code,
        name=name,
        topic_id=topic_id,
        is_internal=is_internal,
        partitions=partitions,
        topic_authorized_operations=topic_authorized_operations,
    )
    return value, pos


def _write_metadata_response_topic_v10(out: bytearray, message: MetadataResponseTopic) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, required(message.name, "MetadataResponseTopic.name"))
    out += _PACKED_uo.pack(message.topic_id, message.is_internal)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v9(out, partitions_item)
    out += _PACKED_i.pack(message.topic_authorized_operations)
    out.append(0)


def _read_metadata_response_topic_v12(buf: Buffer, pos: int) -> tuple[MetadataResponseTopic, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    name, pos = read_compact_nullable_string(buf, pos)
    topic_id, is_internal = _PACKED_uo.unpack_from(buf, pos)
    pos += 17
    count, pos = read_compact_array_length(buf, pos, 18)
    partitions: list[MetadataResponsePartition] = []
    for _ in range(count):
        partitions_item, pos = _read_metadata_response_partition_v9(buf, pos)
        partitions.append(partitions_item)
    topic_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponseTopic(
        error_code=error_code,
        name=name,
        topic_id=topic_id,
        is_internal=is_internal,
        partitions=partitions,
        topic_authorized_operations=topic_authorized_operations,
    )
    return value, pos


def _write_metadata_response_topic_v12(out: bytearray, message: MetadataResponseTopic) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.name)
    out += _PACKED_uo.pack(message.topic_id, message.is_internal)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_metadata_response_partition_v9(out, partitions_item)
    out += _PACKED_i.pack(message.topic_authorized_operations)
    out.append(0)


def _read_metadata_response_v0(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    count, pos = read_array_length(buf, pos, 10)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v0(buf, pos)
        brokers.append(brokers_item)
    count, pos = read_array_length(buf, pos, 8)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v0(buf, pos)
        topics.append(topics_item)
    return MetadataResponse(brokers=brokers, topics=topics), pos


def _write_metadata_response_v0(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 0, 0)
    brokers = message.brokers
    write_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v0(out, brokers_item)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v0(out, topics_item)


def _read_metadata_response_v1(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    count, pos = read_array_length(buf, pos, 12)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v1(buf, pos)
        brokers.append(brokers_item)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 9)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v1(buf, pos)
        topics.append(topics_item)
    return MetadataResponse(brokers=brokers, controller_id=controller_id, topics=topics), pos


def _write_metadata_response_v1(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 1, 1)
    brokers = message.brokers
    write_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(out, brokers_item)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v1(out, topics_item)


def _read_metadata_response_v2(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    count, pos = read_array_length(buf, pos, 12)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v1(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 9)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v1(buf, pos)
        topics.append(topics_item)
    value = MetadataResponse(
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    return value, pos


def _write_metadata_response_v2(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 2, 2)
    brokers = message.brokers
    write_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(out, brokers_item)
    write_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v1(out, topics_item)


def _read_metadata_response_v3(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 12)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v1(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 9)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v1(buf, pos)
        topics.append(topics_item)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    return value, pos


def _write_metadata_response_v3(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 3, 4)
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(out, brokers_item)
    write_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v1(out, topics_item)


def _read_metadata_response_v5(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 12)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v1(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 9)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v5(buf, pos)
        topics.append(topics_item)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    return value, pos


def _write_metadata_response_v5(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 5, 6)
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(out, brokers_item)
    write_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v5(out, topics_item)


def _read_metadata_response_v7(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 12)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v1(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 9)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v7(buf, pos)
        topics.append(topics_item)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    return value, pos


def _write_metadata_response_v7(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 7, 7)
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(out, brokers_item)
    write_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v7(out, topics_item)


def _read_metadata_response_v8(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 12)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v1(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 13)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v8(buf, pos)
        topics.append(topics_item)
    cluster_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
        cluster_authorized_operations=cluster_authorized_operations,
    )
    return value, pos


def _write_metadata_response_v8(out: bytearray, message: MetadataResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v1(out, brokers_item)
    write_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v8(out, topics_item)
    out += _PACKED_i.pack(message.cluster_authorized_operations)


def _read_metadata_response_v9(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 11)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v9(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 10)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v9(buf, pos)
        topics.append(topics_item)
    cluster_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
        cluster_authorized_operations=cluster_authorized_operations,
    )
    return value, pos


def _write_metadata_response_v9(out: bytearray, message: MetadataResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(out, brokers_item)
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v9(out, topics_item)
    out += _PACKED_i.pack(message.cluster_authorized_operations)
    out.append(0)


def _read_metadata_response_v10(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 11)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v9(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 26)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v10(buf, pos)
        topics.append(topics_item)
    cluster_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
        cluster_authorized_operations=cluster_authorized_operations,
    )
    return value, pos


def _write_metadata_response_v10(out: bytearray, message: MetadataResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(out, brokers_item)
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v10(out, topics_item)
    out += _PACKED_i.pack(message.cluster_authorized_operations)
    out.append(0)


def _read_metadata_response_v11(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 11)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v9(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 26)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v10(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    return value, pos


def _write_metadata_response_v11(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 11, 11)
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(out, brokers_item)
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v10(out, topics_item)
    out.append(0)


def _read_metadata_response_v12(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 11)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v9(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 26)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v12(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    return value, pos


def _write_metadata_response_v12(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 12, 12)
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(out, brokers_item)
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v12(out, topics_item)
    out.append(0)


def _read_metadata_response_v13(buf: Buffer, pos: int) -> tuple[MetadataResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 11)
    brokers: list[MetadataResponseBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_metadata_response_broker_v9(buf, pos)
        brokers.append(brokers_item)
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 26)
    topics: list[MetadataResponseTopic] = []
    for _ in range(count):
        topics_item, pos = _read_metadata_response_topic_v12(buf, pos)
        topics.append(topics_item)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = MetadataResponse(
        throttle_time_ms=throttle_time_ms,
        brokers=brokers,
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
        error_code=error_code,
    )
    return value, pos


def _write_metadata_response_v13(out: bytearray, message: MetadataResponse) -> None:
    if message.cluster_authorized_operations != -2147483648:
        raise unsupported_field("MetadataResponse.cluster_authorized_operations", 13, 13)
    out += _PACKED_i.pack(message.throttle_time_ms)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_metadata_response_broker_v9(out, brokers_item)
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_metadata_response_topic_v12(out, topics_item)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[MetadataResponse, int]], ...]] = (
    _read_metadata_response_v0,
    _read_metadata_response_v1,
    _read_metadata_response_v2,
    _read_metadata_response_v3,
    _read_metadata_response_v3,
    _read_metadata_response_v5,
    _read_metadata_response_v5,
    _read_metadata_response_v7,
    _read_metadata_response_v8,
    _read_metadata_response_v9,
    _read_metadata_response_v10,
    _read_metadata_response_v11,
    _read_metadata_response_v12,
    _read_metadata_response_v13,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, MetadataResponse], None], ...]] = (
    _write_metadata_response_v0,
    _write_metadata_response_v1,
    _write_metadata_response_v2,
    _write_metadata_response_v3,
    _write_metadata_response_v3,
    _write_metadata_response_v5,
    _write_metadata_response_v5,
    _write_metadata_response_v7,
    _write_metadata_response_v8,
    _write_metadata_response_v9,
    _write_metadata_response_v10,
    _write_metadata_response_v11,
    _write_metadata_response_v12,
    _write_metadata_response_v13,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> MetadataResponse:
    if not 0 <= version <= 13:
        raise unsupported_version("MetadataResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("MetadataResponse is cut short") from error


def encode_response_into(out: bytearray, message: MetadataResponse, version: int) -> None:
    if not 0 <= version <= 13:
        raise unsupported_version("MetadataResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"MetadataResponse holds a value out of range: {error}") from error


def encode_response(message: MetadataResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
