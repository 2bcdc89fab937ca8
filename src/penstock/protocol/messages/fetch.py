"""FetchRequest and FetchResponse.

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
    read_array_length,
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_nullable_array_length,
    read_nullable_records,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_records,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 1
VERSIONS: Final = range(4, 19)
FLEXIBLE_FROM: Final = 12

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ihi: Final = struct.Struct(">ihi")
_PACKED_ihqq: Final = struct.Struct(">ihqq")
_PACKED_ihqqq: Final = struct.Struct(">ihqqq")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iiibii: Final = struct.Struct(">iiibii")
_PACKED_iiiib: Final = struct.Struct(">iiiib")
_PACKED_iiiibii: Final = struct.Struct(">iiiibii")
_PACKED_iiqiqi: Final = struct.Struct(">iiqiqi")
_PACKED_iiqqi: Final = struct.Struct(">iiqqi")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_iqi: Final = struct.Struct(">iqi")
_PACKED_iqqi: Final = struct.Struct(">iqqi")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_qi: Final = struct.Struct(">qi")
_PACKED_qq: Final = struct.Struct(">qq")
_PACKED_u: Final = struct.Struct(">16s")


class ReplicaState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    replica_id: int = -1
    replica_epoch: int = -1


class FetchPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    current_leader_epoch: int = -1
    fetch_offset: int = 0
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 0
    replica_directory_id: bytes = ZERO_UUID
    high_watermark: int = 9223372036854775807


class FetchTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[FetchPartition] = []


class ForgottenTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: ReplicaState = ReplicaState()
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []
    rack_id: str = ""


class EpochEndOffset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: int = -1
    end_offset: int = -1


class LeaderIdAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1


class SnapshotId(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    end_offset: int = -1
    epoch: int = -1


class AbortedTransaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    producer_id: int = 0
    first_offset: int = 0


class PartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochEndOffset = EpochEndOffset()
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    snapshot_id: SnapshotId = SnapshotId()
    aborted_transactions: list[AbortedTransaction] | None = []
    preferred_read_replica: int = -1
    records: RecordsBuffer | None = None


class FetchableTopicResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    topic_id: bytes = ZERO_UUID
    partitions: list[PartitionData] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


class FetchResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []


_DEFAULT_EPOCH_END_OFFSET: Final = EpochEndOffset()
_DEFAULT_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()
_DEFAULT_REPLICA_STATE: Final = ReplicaState()
_DEFAULT_SNAPSHOT_ID: Final = SnapshotId()


def _read_replica_state_v15(buf: Buffer, pos: int, budget: Budget) -> tuple[ReplicaState, int]:
    replica_id, replica_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ReplicaState(replica_id=replica_id, replica_epoch=replica_epoch), pos


def _write_replica_state_v15(out: bytearray, message: ReplicaState) -> None:
    out += _PACKED_iq.pack(message.replica_id, message.replica_epoch)
    out.append(0)


def _read_fetch_partition_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
    partition, fetch_offset, partition_max_bytes = _PACKED_iqi.unpack_from(buf, pos)
    pos += 16
    value = FetchPartition(
        partition=partition,
        fetch_offset=fetch_offset,
        partition_max_bytes=partition_max_bytes,
    )
    return value, pos


def _write_fetch_partition_v4(out: bytearray, message: FetchPartition) -> None:
    if message.last_fetched_epoch != -1:
        raise unsupported_field("FetchPartition.last_fetched_epoch", 4, 4)
    out += _PACKED_iqi.pack(message.partition, message.fetch_offset, message.partition_max_bytes)


def _read_fetch_partition_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
    partition, fetch_offset, log_start_offset, partition_max_bytes = _PACKED_iqqi.unpack_from(buf, pos)
    pos += 24
    value = FetchPartition(
        partition=partition,
        fetch_offset=fetch_offset,
        log_start_offset=log_start_offset,
        partition_max_bytes=partition_max_bytes,
    )
    return value, pos


def _write_fetch_partition_v5(out: bytearray, message: FetchPartition) -> None:
    if message.last_fetched_epoch != -1:
        raise unsupported_field("FetchPartition.last_fetched_epoch", 5, 8)
    out += _PACKED_iqqi.pack(message.partition, message.fetch_offset, message.log_start_offset, message.partition_max_bytes)


def _read_fetch_partition_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
    partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = _PACKED_iiqqi.unpack_from(buf, pos)
    pos += 28
    value = FetchPartition(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        fetch_offset=fetch_offset,
        log_start_offset=log_start_offset,
        partition_max_bytes=partition_max_bytes,
    )
    return value, pos


def _write_fetch_partition_v9(out: bytearray, message: FetchPartition) -> None:
    if message.last_fetched_epoch != -1:
        raise unsupported_field("FetchPartition.last_fetched_epoch", 9, 11)
    out += _PACKED_iiqqi.pack(message.partition, message.current_leader_epoch, message.fetch_offset, message.log_start_offset, message.partition_max_bytes)


def _read_fetch_partition_v12(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
    partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes = _PACKED_iiqiqi.unpack_from(buf, pos)
    pos += 32
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = FetchPartition(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        fetch_offset=fetch_offset,
        last_fetched_epoch=last_fetched_epoch,
        log_start_offset=log_start_offset,
        partition_max_bytes=partition_max_bytes,
    )
    return value, pos


def _write_fetch_partition_v12(out: bytearray, message: FetchPartition) -> None:
    out += _PACKED_iiqiqi.pack(message.partition, message.current_leader_epoch, message.fetch_offset, message.last_fetched_epoch, message.log_start_offset, message.partition_max_bytes)
    out.append(0)


def _read_fetch_partition_v17(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
    partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes = _PACKED_iiqiqi.unpack_from(buf, pos)
    pos += 32
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
                raise wrong_tag_size("FetchPartition", tag)
    value = FetchPartition(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        fetch_offset=fetch_offset,
        last_fetched_epoch=last_fetched_epoch,
        log_start_offset=log_start_offset,
        partition_max_bytes=partition_max_bytes,
        replica_directory_id=replica_directory_id,
    )
    return value, pos


def _write_fetch_partition_v17(out: bytearray, message: FetchPartition) -> None:
    out += _PACKED_iiqiqi.pack(message.partition, message.current_leader_epoch, message.fetch_offset, message.last_fetched_epoch, message.log_start_offset, message.partition_max_bytes)
    tagged: list[tuple[int, bytearray]] = []
    if message.replica_directory_id != ZERO_UUID:
        value = bytearray()
        value += _PACKED_u.pack(message.replica_directory_id)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_fetch_partition_v18(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchPartition, int]:
    partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes = _PACKED_iiqiqi.unpack_from(buf, pos)
    pos += 32
    replica_directory_id: bytes = ZERO_UUID
    high_watermark: int = 9223372036854775807
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
            elif tag == 1:
                high_watermark = _PACKED_q.unpack_from(buf, pos)[0]
                pos += 8
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("FetchPartition", tag)
    value = FetchPartition(
        partition=partition,
        current_leader_epoch=current_leader_epoch,
        fetch_offset=fetch_offset,
        last_fetched_epoch=last_fetched_epoch,
        log_start_offset=log_start_offset,
        partition_max_bytes=partition_max_bytes,
        replica_directory_id=replica_directory_id,
        high_watermark=high_watermark,
    )
    return value, pos


def _write_fetch_partition_v18(out: bytearray, message: FetchPartition) -> None:
    out += _PACKED_iiqiqi.pack(message.partition, message.current_leader_epoch, message.fetch_offset, message.last_fetched_epoch, message.log_start_offset, message.partition_max_bytes)
    tagged: list[tuple[int, bytearray]] = []
    if message.replica_directory_id != ZERO_UUID:
        value = bytearray()
        value += _PACKED_u.pack(message.replica_directory_id)
        tagged.append((0, value))
    if message.high_watermark != 9223372036854775807:
        value = bytearray()
        value += _PACKED_q.pack(message.high_watermark)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


def _read_fetch_topic_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 16)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v4(buf, pos, budget)
        partitions.append(partitions_item)
    return FetchTopic(topic=topic, partitions=partitions), pos


def _write_fetch_topic_v4(out: bytearray, message: FetchTopic) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v4(out, partitions_item)


def _read_fetch_topic_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 24)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v5(buf, pos, budget)
        partitions.append(partitions_item)
    return FetchTopic(topic=topic, partitions=partitions), pos


def _write_fetch_topic_v5(out: bytearray, message: FetchTopic) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v5(out, partitions_item)


def _read_fetch_topic_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 28)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v9(buf, pos, budget)
        partitions.append(partitions_item)
    return FetchTopic(topic=topic, partitions=partitions), pos


def _write_fetch_topic_v9(out: bytearray, message: FetchTopic) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v9(out, partitions_item)


def _read_fetch_topic_v12(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 33)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v12(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return FetchTopic(topic=topic, partitions=partitions), pos


def _write_fetch_topic_v12(out: bytearray, message: FetchTopic) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v12(out, partitions_item)
    out.append(0)


def _read_fetch_topic_v13(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 33)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v12(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return FetchTopic(topic_id=topic_id, partitions=partitions), pos


def _write_fetch_topic_v13(out: bytearray, message: FetchTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v12(out, partitions_item)
    out.append(0)


def _read_fetch_topic_v17(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 33)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v17(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return FetchTopic(topic_id=topic_id, partitions=partitions), pos


def _write_fetch_topic_v17(out: bytearray, message: FetchTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v17(out, partitions_item)
    out.append(0)


def _read_fetch_topic_v18(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchTopic, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 33)
    budget.take(count)
    partitions: list[FetchPartition] = []
    for _ in range(count):
        partitions_item, pos = _read_fetch_partition_v18(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return FetchTopic(topic_id=topic_id, partitions=partitions), pos


def _write_fetch_topic_v18(out: bytearray, message: FetchTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_fetch_partition_v18(out, partitions_item)
    out.append(0)


def _read_forgotten_topic_v7(buf: Buffer, pos: int, budget: Budget) -> tuple[ForgottenTopic, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    return ForgottenTopic(topic=topic, partitions=partitions), pos


def _write_forgotten_topic_v7(out: bytearray, message: ForgottenTopic) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    write_int32s(out, partitions)


def _read_forgotten_topic_v12(buf: Buffer, pos: int, budget: Budget) -> tuple[ForgottenTopic, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ForgottenTopic(topic=topic, partitions=partitions), pos


def _write_forgotten_topic_v12(out: bytearray, message: ForgottenTopic) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_forgotten_topic_v13(buf: Buffer, pos: int, budget: Budget) -> tuple[ForgottenTopic, int]:
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


def _write_forgotten_topic_v13(out: bytearray, message: ForgottenTopic) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_fetch_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level = _PACKED_iiiib.unpack_from(buf, pos)
    pos += 17
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v4(buf, pos, budget)
        topics.append(topics_item)
    value = FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=topics,
    )
    return value, pos


def _write_fetch_request_v4(out: bytearray, message: FetchRequest) -> None:
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        raise unsupported_field("FetchRequest.replica_state", 4, 4)
    if message.forgotten_topics_data != []:
        raise unsupported_field("FetchRequest.forgotten_topics_data", 4, 4)
    out += _PACKED_iiiib.pack(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v4(out, topics_item)


def _read_fetch_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level = _PACKED_iiiib.unpack_from(buf, pos)
    pos += 17
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    value = FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=topics,
    )
    return value, pos


def _write_fetch_request_v5(out: bytearray, message: FetchRequest) -> None:
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        raise unsupported_field("FetchRequest.replica_state", 5, 6)
    if message.forgotten_topics_data != []:
        raise unsupported_field("FetchRequest.forgotten_topics_data", 5, 6)
    out += _PACKED_iiiib.pack(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v5(out, topics_item)


def _read_fetch_request_v7(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiiibii.unpack_from(buf, pos)
    pos += 25
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v7(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    value = FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
    )
    return value, pos


def _write_fetch_request_v7(out: bytearray, message: FetchRequest) -> None:
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        raise unsupported_field("FetchRequest.replica_state", 7, 8)
    out += _PACKED_iiiibii.pack(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v5(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v7(out, forgotten_topics_data_item)


def _read_fetch_request_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiiibii.unpack_from(buf, pos)
    pos += 25
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v9(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v7(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    value = FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
    )
    return value, pos


def _write_fetch_request_v9(out: bytearray, message: FetchRequest) -> None:
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        raise unsupported_field("FetchRequest.replica_state", 9, 10)
    out += _PACKED_iiiibii.pack(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v9(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v7(out, forgotten_topics_data_item)


def _read_fetch_request_v11(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiiibii.unpack_from(buf, pos)
    pos += 25
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v9(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v7(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    rack_id, pos = read_string(buf, pos)
    value = FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
        rack_id=rack_id,
    )
    return value, pos


def _write_fetch_request_v11(out: bytearray, message: FetchRequest) -> None:
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        raise unsupported_field("FetchRequest.replica_state", 11, 11)
    out += _PACKED_iiiibii.pack(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v9(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v7(out, forgotten_topics_data_item)
    write_string(out, message.rack_id)


def _read_fetch_request_v12(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiiibii.unpack_from(buf, pos)
    pos += 25
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v12(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v12(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    rack_id, pos = read_compact_string(buf, pos)
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
                raise wrong_tag_size("FetchRequest", tag)
    value = FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
        rack_id=rack_id,
        cluster_id=cluster_id,
    )
    return value, pos


def _write_fetch_request_v12(out: bytearray, message: FetchRequest) -> None:
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        raise unsupported_field("FetchRequest.replica_state", 12, 12)
    out += _PACKED_iiiibii.pack(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v12(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_compact_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v12(out, forgotten_topics_data_item)
    write_compact_string(out, message.rack_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.cluster_id is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.cluster_id)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_fetch_request_v13(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiiibii.unpack_from(buf, pos)
    pos += 25
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v13(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v13(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    rack_id, pos = read_compact_string(buf, pos)
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
                raise wrong_tag_size("FetchRequest", tag)
    value = FetchRequest(
        replica_id=replica_id,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
        rack_id=rack_id,
        cluster_id=cluster_id,
    )
    return value, pos


def _write_fetch_request_v13(out: bytearray, message: FetchRequest) -> None:
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        raise unsupported_field("FetchRequest.replica_state", 13, 14)
    out += _PACKED_iiiibii.pack(message.replica_id, message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v13(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_compact_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(out, forgotten_topics_data_item)
    write_compact_string(out, message.rack_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.cluster_id is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.cluster_id)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_fetch_request_v15(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiibii.unpack_from(buf, pos)
    pos += 21
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v13(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v13(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    rack_id, pos = read_compact_string(buf, pos)
    cluster_id: str | None = None
    replica_state: ReplicaState = _DEFAULT_REPLICA_STATE
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                cluster_id, pos = read_compact_nullable_string(buf, pos)
            elif tag == 1:
                replica_state, pos = _read_replica_state_v15(buf, pos, budget)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("FetchRequest", tag)
    value = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
        rack_id=rack_id,
        cluster_id=cluster_id,
        replica_state=replica_state,
    )
    return value, pos


def _write_fetch_request_v15(out: bytearray, message: FetchRequest) -> None:
    if message.replica_id != -1:
        raise unsupported_field("FetchRequest.replica_id", 15, 16)
    out += _PACKED_iiibii.pack(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v13(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_compact_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(out, forgotten_topics_data_item)
    write_compact_string(out, message.rack_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.cluster_id is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.cluster_id)
        tagged.append((0, value))
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        value = bytearray()
        _write_replica_state_v15(value, message.replica_state)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


def _read_fetch_request_v17(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiibii.unpack_from(buf, pos)
    pos += 21
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v17(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v13(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    rack_id, pos = read_compact_string(buf, pos)
    cluster_id: str | None = None
    replica_state: ReplicaState = _DEFAULT_REPLICA_STATE
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                cluster_id, pos = read_compact_nullable_string(buf, pos)
            elif tag == 1:
                replica_state, pos = _read_replica_state_v15(buf, pos, budget)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("FetchRequest", tag)
    value = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
        rack_id=rack_id,
        cluster_id=cluster_id,
        replica_state=replica_state,
    )
    return value, pos


def _write_fetch_request_v17(out: bytearray, message: FetchRequest) -> None:
    if message.replica_id != -1:
        raise unsupported_field("FetchRequest.replica_id", 17, 17)
    out += _PACKED_iiibii.pack(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v17(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_compact_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(out, forgotten_topics_data_item)
    write_compact_string(out, message.rack_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.cluster_id is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.cluster_id)
        tagged.append((0, value))
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        value = bytearray()
        _write_replica_state_v15(value, message.replica_state)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


def _read_fetch_request_v18(buf: Buffer, pos: int, budget: Budget) -> tuple[FetchRequest, int]:
    max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = _PACKED_iiibii.unpack_from(buf, pos)
    pos += 21
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[FetchTopic] = []
    for _ in range(count):
        topics_item, pos = _read_fetch_topic_v18(buf, pos, budget)
        topics.append(topics_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    forgotten_topics_data: list[ForgottenTopic] = []
    for _ in range(count):
        forgotten_topics_data_item, pos = _read_forgotten_topic_v13(buf, pos, budget)
        forgotten_topics_data.append(forgotten_topics_data_item)
    rack_id, pos = read_compact_string(buf, pos)
    cluster_id: str | None = None
    replica_state: ReplicaState = _DEFAULT_REPLICA_STATE
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        budget.take(count)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                cluster_id, pos = read_compact_nullable_string(buf, pos)
            elif tag == 1:
                replica_state, pos = _read_replica_state_v15(buf, pos, budget)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("FetchRequest", tag)
    value = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
        forgotten_topics_data=forgotten_topics_data,
        rack_id=rack_id,
        cluster_id=cluster_id,
        replica_state=replica_state,
    )
    return value, pos


def _write_fetch_request_v18(out: bytearray, message: FetchRequest) -> None:
    if message.replica_id != -1:
        raise unsupported_field("FetchRequest.replica_id", 18, 18)
    out += _PACKED_iiibii.pack(message.max_wait_ms, message.min_bytes, message.max_bytes, message.isolation_level, message.session_id, message.session_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_fetch_topic_v18(out, topics_item)
    forgotten_topics_data = message.forgotten_topics_data
    write_compact_array_length(out, len(forgotten_topics_data))
    for forgotten_topics_data_item in forgotten_topics_data:
        _write_forgotten_topic_v13(out, forgotten_topics_data_item)
    write_compact_string(out, message.rack_id)
    tagged: list[tuple[int, bytearray]] = []
    if message.cluster_id is not None:
        value = bytearray()
        write_compact_nullable_string(value, message.cluster_id)
        tagged.append((0, value))
    if message.replica_state != _DEFAULT_REPLICA_STATE:
        value = bytearray()
        _write_replica_state_v15(value, message.replica_state)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[FetchRequest, int]], ...]] = (
    _read_fetch_request_v4,
    _read_fetch_request_v5,
    _read_fetch_request_v5,
    _read_fetch_request_v7,
    _read_fetch_request_v7,
    _read_fetch_request_v9,
    _read_fetch_request_v9,
    _read_fetch_request_v11,
    _read_fetch_request_v12,
    _read_fetch_request_v13,
    _read_fetch_request_v13,
    _read_fetch_request_v15,
    _read_fetch_request_v15,
    _read_fetch_request_v17,
    _read_fetch_request_v18,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, FetchRequest], None], ...]] = (
    _write_fetch_request_v4,
    _write_fetch_request_v5,
    _write_fetch_request_v5,
    _write_fetch_request_v7,
    _write_fetch_request_v7,
    _write_fetch_request_v9,
    _write_fetch_request_v9,
    _write_fetch_request_v11,
    _write_fetch_request_v12,
    _write_fetch_request_v13,
    _write_fetch_request_v13,
    _write_fetch_request_v15,
    _write_fetch_request_v15,
    _write_fetch_request_v17,
    _write_fetch_request_v18,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> FetchRequest:
    if not 4 <= version <= 18:
        raise unsupported_version("FetchRequest", version)
    try:
        return _REQUEST_READERS[version - 4](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FetchRequest is cut short") from error


def encode_request_into(out: bytearray, message: FetchRequest, version: int) -> None:
    if not 4 <= version <= 18:
        raise unsupported_version("FetchRequest", version)
    try:
        _REQUEST_WRITERS[version - 4](out, message)
    except struct.error as error:
        raise ProtocolError(f"FetchRequest holds a value out of range: {error}") from error


def encode_request(message: FetchRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_epoch_end_offset_v12(buf: Buffer, pos: int) -> tuple[EpochEndOffset, int]:
    epoch, end_offset = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return EpochEndOffset(epoch=epoch, end_offset=end_offset), pos


def _write_epoch_end_offset_v12(out: bytearray, message: EpochEndOffset) -> None:
    out += _PACKED_iq.pack(message.epoch, message.end_offset)
    out.append(0)


def _read_leader_id_and_epoch_v12(buf: Buffer, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch), pos


def _write_leader_id_and_epoch_v12(out: bytearray, message: LeaderIdAndEpoch) -> None:
    out += _PACKED_ii.pack(message.leader_id, message.leader_epoch)
    out.append(0)


def _read_snapshot_id_v12(buf: Buffer, pos: int) -> tuple[SnapshotId, int]:
    end_offset, epoch = _PACKED_qi.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return SnapshotId(end_offset=end_offset, epoch=epoch), pos


def _write_snapshot_id_v12(out: bytearray, message: SnapshotId) -> None:
    out += _PACKED_qi.pack(message.end_offset, message.epoch)
    out.append(0)


def _read_aborted_transaction_v4(buf: Buffer, pos: int) -> tuple[AbortedTransaction, int]:
    producer_id, first_offset = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    return AbortedTransaction(producer_id=producer_id, first_offset=first_offset), pos


def _write_aborted_transaction_v4(out: bytearray, message: AbortedTransaction) -> None:
    out += _PACKED_qq.pack(message.producer_id, message.first_offset)


def _read_aborted_transaction_v12(buf: Buffer, pos: int) -> tuple[AbortedTransaction, int]:
    producer_id, first_offset = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AbortedTransaction(producer_id=producer_id, first_offset=first_offset), pos


def _write_aborted_transaction_v12(out: bytearray, message: AbortedTransaction) -> None:
    out += _PACKED_qq.pack(message.producer_id, message.first_offset)
    out.append(0)


def _read_partition_data_v4(buf: Buffer, pos: int) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset = _PACKED_ihqq.unpack_from(buf, pos)
    pos += 22
    count, pos = read_nullable_array_length(buf, pos, 16)
    aborted_transactions: list[AbortedTransaction] | None = None
    if count >= 0:
        aborted_transactions = []
        for _ in range(count):
            aborted_transactions_item, pos = _read_aborted_transaction_v4(buf, pos)
            aborted_transactions.append(aborted_transactions_item)
    records, pos = read_nullable_records(buf, pos)
    value = PartitionData(
        partition_index=partition_index,
        error_code=error_code,
        high_watermark=high_watermark,
        last_stable_offset=last_stable_offset,
        aborted_transactions=aborted_transactions,
        records=records,
    )
    return value, pos


def _write_partition_data_v4(out: bytearray, message: PartitionData) -> None:
    if message.diverging_epoch != _DEFAULT_EPOCH_END_OFFSET:
        raise unsupported_field("PartitionData.diverging_epoch", 4, 4)
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        raise unsupported_field("PartitionData.current_leader", 4, 4)
    if message.snapshot_id != _DEFAULT_SNAPSHOT_ID:
        raise unsupported_field("PartitionData.snapshot_id", 4, 4)
    if message.preferred_read_replica != -1:
        raise unsupported_field("PartitionData.preferred_read_replica", 4, 4)
    out += _PACKED_ihqq.pack(message.partition_index, message.error_code, message.high_watermark, message.last_stable_offset)
    aborted_transactions = message.aborted_transactions
    if aborted_transactions is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(aborted_transactions))
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v4(out, aborted_transactions_item)
    write_nullable_records(out, message.records)


def _read_partition_data_v5(buf: Buffer, pos: int) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset, log_start_offset = _PACKED_ihqqq.unpack_from(buf, pos)
    pos += 30
    count, pos = read_nullable_array_length(buf, pos, 16)
    aborted_transactions: list[AbortedTransaction] | None = None
    if count >= 0:
        aborted_transactions = []
        for _ in range(count):
            aborted_transactions_item, pos = _read_aborted_transaction_v4(buf, pos)
            aborted_transactions.append(aborted_transactions_item)
    records, pos = read_nullable_records(buf, pos)
    value = PartitionData(
        partition_index=partition_index,
        error_code=error_code,
        high_watermark=high_watermark,
        last_stable_offset=last_stable_offset,
        log_start_offset=log_start_offset,
        aborted_transactions=aborted_transactions,
        records=records,
    )
    return value, pos


def _write_partition_data_v5(out: bytearray, message: PartitionData) -> None:
    if message.diverging_epoch != _DEFAULT_EPOCH_END_OFFSET:
        raise unsupported_field("PartitionData.diverging_epoch", 5, 10)
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        raise unsupported_field("PartitionData.current_leader", 5, 10)
    if message.snapshot_id != _DEFAULT_SNAPSHOT_ID:
        raise unsupported_field("PartitionData.snapshot_id", 5, 10)
    if message.preferred_read_replica != -1:
        raise unsupported_field("PartitionData.preferred_read_replica", 5, 10)
    out += _PACKED_ihqqq.pack(message.partition_index, message.error_code, message.high_watermark, message.last_stable_offset, message.log_start_offset)
    aborted_transactions = message.aborted_transactions
    if aborted_transactions is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(aborted_transactions))
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v4(out, aborted_transactions_item)
    write_nullable_records(out, message.records)


def _read_partition_data_v11(buf: Buffer, pos: int) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset, log_start_offset = _PACKED_ihqqq.unpack_from(buf, pos)
    pos += 30
    count, pos = read_nullable_array_length(buf, pos, 16)
    aborted_transactions: list[AbortedTransaction] | None = None
    if count >= 0:
        aborted_transactions = []
        for _ in range(count):
            aborted_transactions_item, pos = _read_aborted_transaction_v4(buf, pos)
            aborted_transactions.append(aborted_transactions_item)
    preferred_read_replica = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    records, pos = read_nullable_records(buf, pos)
    value = PartitionData(
        partition_index=partition_index,
        error_code=error_code,
        high_watermark=high_watermark,
        last_stable_offset=last_stable_offset,
        log_start_offset=log_start_offset,
        aborted_transactions=aborted_transactions,
        preferred_read_replica=preferred_read_replica,
        records=records,
    )
    return value, pos


def _write_partition_data_v11(out: bytearray, message: PartitionData) -> None:
    if message.diverging_epoch != _DEFAULT_EPOCH_END_OFFSET:
        raise unsupported_field("PartitionData.diverging_epoch", 11, 11)
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        raise unsupported_field("PartitionData.current_leader", 11, 11)
    if message.snapshot_id != _DEFAULT_SNAPSHOT_ID:
        raise unsupported_field("PartitionData.snapshot_id", 11, 11)
    out += _PACKED_ihqqq.pack(message.partition_index, message.error_code, message.high_watermark, message.last_stable_offset, message.log_start_offset)
    aborted_transactions = message.aborted_transactions
    if aborted_transactions is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(aborted_transactions))
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v4(out, aborted_transactions_item)
    out += _PACKED_i.pack(message.preferred_read_replica)
    write_nullable_records(out, message.records)


def _read_partition_data_v12(buf: Buffer, pos: int) -> tuple[PartitionData, int]:
    partition_index, error_code, high_watermark, last_stable_offset, log_start_offset = _PACKED_ihqqq.unpack_from(buf, pos)
    pos += 30
    count, pos = read_compact_nullable_array_length(buf, pos, 17)
    aborted_transactions: list[AbortedTransaction] | None = None
    if count >= 0:
        aborted_transactions = []
        for _ in range(count):
            aborted_transactions_item, pos = _read_aborted_transaction_v12(buf, pos)
            aborted_transactions.append(aborted_transactions_item)
    preferred_read_replica = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    records, pos = read_compact_nullable_records(buf, pos)
    diverging_epoch: EpochEndOffset = _DEFAULT_EPOCH_END_OFFSET
    current_leader: LeaderIdAndEpoch = _DEFAULT_LEADER_ID_AND_EPOCH
    snapshot_id: SnapshotId = _DEFAULT_SNAPSHOT_ID
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                diverging_epoch, pos = _read_epoch_end_offset_v12(buf, pos)
            elif tag == 1:
                current_leader, pos = _read_leader_id_and_epoch_v12(buf, pos)
            elif tag == 2:
                snapshot_id, pos = _read_snapshot_id_v12(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionData", tag)
    value = PartitionData(
        partition_index=partition_index,
        error_code=error_code,
        high_watermark=high_watermark,
        last_stable_offset=last_stable_offset,
        log_start_offset=log_start_offset,
        aborted_transactions=aborted_transactions,
        preferred_read_replica=preferred_read_replica,
        records=records,
        diverging_epoch=diverging_epoch,
        current_leader=current_leader,
        snapshot_id=snapshot_id,
    )
    return value, pos


def _write_partition_data_v12(out: bytearray, message: PartitionData) -> None:
    out += _PACKED_ihqqq.pack(message.partition_index, message.error_code, message.high_watermark, message.last_stable_offset, message.log_start_offset)
    aborted_transactions = message.aborted_transactions
    if aborted_transactions is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(aborted_transactions))
        for aborted_transactions_item in aborted_transactions:
            _write_aborted_transaction_v12(out, aborted_transactions_item)
    out += _PACKED_i.pack(message.preferred_read_replica)
    write_compact_nullable_records(out, message.records)
    tagged: list[tuple[int, bytearray]] = []
    if message.diverging_epoch != _DEFAULT_EPOCH_END_OFFSET:
        value = bytearray()
        _write_epoch_end_offset_v12(value, message.diverging_epoch)
        tagged.append((0, value))
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        value = bytearray()
        _write_leader_id_and_epoch_v12(value, message.current_leader)
        tagged.append((1, value))
    if message.snapshot_id != _DEFAULT_SNAPSHOT_ID:
        value = bytearray()
        _write_snapshot_id_v12(value, message.snapshot_id)
        tagged.append((2, value))
    write_tagged_fields(out, tagged)


def _read_fetchable_topic_response_v4(buf: Buffer, pos: int) -> tuple[FetchableTopicResponse, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 30)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v4(buf, pos)
        partitions.append(partitions_item)
    return FetchableTopicResponse(topic=topic, partitions=partitions), pos


def _write_fetchable_topic_response_v4(out: bytearray, message: FetchableTopicResponse) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v4(out, partitions_item)


def _read_fetchable_topic_response_v5(buf: Buffer, pos: int) -> tuple[FetchableTopicResponse, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 38)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v5(buf, pos)
        partitions.append(partitions_item)
    return FetchableTopicResponse(topic=topic, partitions=partitions), pos


def _write_fetchable_topic_response_v5(out: bytearray, message: FetchableTopicResponse) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v5(out, partitions_item)


def _read_fetchable_topic_response_v11(buf: Buffer, pos: int) -> tuple[FetchableTopicResponse, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 42)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v11(buf, pos)
        partitions.append(partitions_item)
    return FetchableTopicResponse(topic=topic, partitions=partitions), pos


def _write_fetchable_topic_response_v11(out: bytearray, message: FetchableTopicResponse) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v11(out, partitions_item)


def _read_fetchable_topic_response_v12(buf: Buffer, pos: int) -> tuple[FetchableTopicResponse, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 37)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v12(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return FetchableTopicResponse(topic=topic, partitions=partitions), pos


def _write_fetchable_topic_response_v12(out: bytearray, message: FetchableTopicResponse) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v12(out, partitions_item)
    out.append(0)


def _read_fetchable_topic_response_v13(buf: Buffer, pos: int) -> tuple[FetchableTopicResponse, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 37)
    partitions: list[PartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_partition_data_v12(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return FetchableTopicResponse(topic_id=topic_id, partitions=partitions), pos


def _write_fetchable_topic_response_v13(out: bytearray, message: FetchableTopicResponse) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_partition_data_v12(out, partitions_item)
    out.append(0)


def _read_node_endpoint_v16(buf: Buffer, pos: int) -> tuple[NodeEndpoint, int]:
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


def _write_node_endpoint_v16(out: bytearray, message: NodeEndpoint) -> None:
    out += _PACKED_i.pack(message.node_id)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    write_compact_nullable_string(out, message.rack)
    out.append(0)


def _read_fetch_response_v4(buf: Buffer, pos: int) -> tuple[FetchResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    responses: list[FetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_fetchable_topic_response_v4(buf, pos)
        responses.append(responses_item)
    return FetchResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_fetch_response_v4(out: bytearray, message: FetchResponse) -> None:
    if message.session_id != 0:
        raise unsupported_field("FetchResponse.session_id", 4, 4)
    if message.node_endpoints != []:
        raise unsupported_field("FetchResponse.node_endpoints", 4, 4)
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_fetchable_topic_response_v4(out, responses_item)


def _read_fetch_response_v5(buf: Buffer, pos: int) -> tuple[FetchResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    responses: list[FetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_fetchable_topic_response_v5(buf, pos)
        responses.append(responses_item)
    return FetchResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_fetch_response_v5(out: bytearray, message: FetchResponse) -> None:
    if message.session_id != 0:
        raise unsupported_field("FetchResponse.session_id", 5, 6)
    if message.node_endpoints != []:
        raise unsupported_field("FetchResponse.node_endpoints", 5, 6)
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_fetchable_topic_response_v5(out, responses_item)


def _read_fetch_response_v7(buf: Buffer, pos: int) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    count, pos = read_array_length(buf, pos, 6)
    responses: list[FetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_fetchable_topic_response_v5(buf, pos)
        responses.append(responses_item)
    value = FetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        session_id=session_id,
        responses=responses,
    )
    return value, pos


def _write_fetch_response_v7(out: bytearray, message: FetchResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("FetchResponse.node_endpoints", 7, 10)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_fetchable_topic_response_v5(out, responses_item)


def _read_fetch_response_v11(buf: Buffer, pos: int) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    count, pos = read_array_length(buf, pos, 6)
    responses: list[FetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_fetchable_topic_response_v11(buf, pos)
        responses.append(responses_item)
    value = FetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        session_id=session_id,
        responses=responses,
    )
    return value, pos


def _write_fetch_response_v11(out: bytearray, message: FetchResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("FetchResponse.node_endpoints", 11, 11)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_fetchable_topic_response_v11(out, responses_item)


def _read_fetch_response_v12(buf: Buffer, pos: int) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    count, pos = read_compact_array_length(buf, pos, 3)
    responses: list[FetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_fetchable_topic_response_v12(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = FetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        session_id=session_id,
        responses=responses,
    )
    return value, pos


def _write_fetch_response_v12(out: bytearray, message: FetchResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("FetchResponse.node_endpoints", 12, 12)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_fetchable_topic_response_v12(out, responses_item)
    out.append(0)


def _read_fetch_response_v13(buf: Buffer, pos: int) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    count, pos = read_compact_array_length(buf, pos, 18)
    responses: list[FetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_fetchable_topic_response_v13(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = FetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        session_id=session_id,
        responses=responses,
    )
    return value, pos


def _write_fetch_response_v13(out: bytearray, message: FetchResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("FetchResponse.node_endpoints", 13, 15)
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_fetchable_topic_response_v13(out, responses_item)
    out.append(0)


def _read_fetch_response_v16(buf: Buffer, pos: int) -> tuple[FetchResponse, int]:
    throttle_time_ms, error_code, session_id = _PACKED_ihi.unpack_from(buf, pos)
    pos += 10
    count, pos = read_compact_array_length(buf, pos, 18)
    responses: list[FetchableTopicResponse] = []
    for _ in range(count):
        responses_item, pos = _read_fetchable_topic_response_v13(buf, pos)
        responses.append(responses_item)
    node_endpoints: list[NodeEndpoint] = []
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 11)
                node_endpoints = []
                for _ in range(count):
                    node_endpoints_item, pos = _read_node_endpoint_v16(buf, pos)
                    node_endpoints.append(node_endpoints_item)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("FetchResponse", tag)
    value = FetchResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        session_id=session_id,
        responses=responses,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_fetch_response_v16(out: bytearray, message: FetchResponse) -> None:
    out += _PACKED_ihi.pack(message.throttle_time_ms, message.error_code, message.session_id)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_fetchable_topic_response_v13(out, responses_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.node_endpoints != []:
        value = bytearray()
        node_endpoints = message.node_endpoints
        write_compact_array_length(value, len(node_endpoints))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v16(value, node_endpoints_item)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[FetchResponse, int]], ...]] = (
    _read_fetch_response_v4,
    _read_fetch_response_v5,
    _read_fetch_response_v5,
    _read_fetch_response_v7,
    _read_fetch_response_v7,
    _read_fetch_response_v7,
    _read_fetch_response_v7,
    _read_fetch_response_v11,
    _read_fetch_response_v12,
    _read_fetch_response_v13,
    _read_fetch_response_v13,
    _read_fetch_response_v13,
    _read_fetch_response_v16,
    _read_fetch_response_v16,
    _read_fetch_response_v16,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, FetchResponse], None], ...]] = (
    _write_fetch_response_v4,
    _write_fetch_response_v5,
    _write_fetch_response_v5,
    _write_fetch_response_v7,
    _write_fetch_response_v7,
    _write_fetch_response_v7,
    _write_fetch_response_v7,
    _write_fetch_response_v11,
    _write_fetch_response_v12,
    _write_fetch_response_v13,
    _write_fetch_response_v13,
    _write_fetch_response_v13,
    _write_fetch_response_v16,
    _write_fetch_response_v16,
    _write_fetch_response_v16,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> FetchResponse:
    if not 4 <= version <= 18:
        raise unsupported_version("FetchResponse", version)
    try:
        return _RESPONSE_READERS[version - 4](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FetchResponse is cut short") from error


def encode_response_into(out: bytearray, message: FetchResponse, version: int) -> None:
    if not 4 <= version <= 18:
        raise unsupported_version("FetchResponse", version)
    try:
        _RESPONSE_WRITERS[version - 4](out, message)
    except struct.error as error:
        raise ProtocolError(f"FetchResponse holds a value out of range: {error}") from error


def encode_response(message: FetchResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
