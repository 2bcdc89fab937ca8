"""Encodes a FetchResponse without copying the records in it.

The result is a list of buffers whose concatenation is what `messages.fetch.encode_response` would return; each
partition's records are one of the buffers, the very object that the message holds. The generated encoder would copy
every record twice on its way to the socket.
"""

import struct
from typing import Final

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.fetch import (
    FLEXIBLE_FROM,
    VERSIONS,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)
from penstock.protocol.wire import (
    Buffer,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_string,
    write_tagged_fields,
    write_uvarint,
)

_INT32: Final = struct.Struct(">i")
_INT32_INT32: Final = struct.Struct(">ii")
_INT32_INT64: Final = struct.Struct(">iq")
_INT64_INT32: Final = struct.Struct(">qi")
_INT64_INT64: Final = struct.Struct(">qq")
_UUID: Final = struct.Struct(">16s")
_TOP_V7: Final = struct.Struct(">ihi")
_PARTITION_V4: Final = struct.Struct(">ihqq")
_PARTITION_V5: Final = struct.Struct(">ihqqq")

_NO_EPOCH: Final = EpochEndOffset()
_NO_LEADER: Final = LeaderIdAndEpoch()
_NO_SNAPSHOT: Final = SnapshotId()


def encode_fetch_response(message: FetchResponse, version: int) -> list[Buffer]:
    """The body of the response as buffers to be written one after the other."""
    if version not in VERSIONS:
        raise unsupported_version("FetchResponse", version)
    try:
        return _encode(message, version)
    except struct.error as error:
        raise ProtocolError(f"FetchResponse holds a value out of range: {error}") from error


def _encode(message: FetchResponse, version: int) -> list[Buffer]:
    buffers: list[Buffer] = []
    out = bytearray()
    if version >= 7:
        out += _TOP_V7.pack(message.throttle_time_ms, message.error_code, message.session_id)
    else:
        if message.session_id != 0:
            raise unsupported_field("FetchResponse.session_id", 4, 6)
        out += _INT32.pack(message.throttle_time_ms)
    if version < 16 and message.node_endpoints:
        raise unsupported_field("FetchResponse.node_endpoints", 4, 15)
    write_length = write_compact_array_length if version >= FLEXIBLE_FROM else write_array_length
    write_length(out, len(message.responses))
    for topic in message.responses:
        _write_topic_head(out, topic, version)
        write_length(out, len(topic.partitions))
        for partition in topic.partitions:
            _write_partition_head(out, partition, version)
            records = partition.records
            _write_records_size(out, records, version)
            if records:
                buffers += (out, records)
                out = bytearray()
            if version >= FLEXIBLE_FROM:
                _write_partition_tags(out, partition)
        if version >= FLEXIBLE_FROM:
            out.append(0)
    if version >= FLEXIBLE_FROM:
        _write_top_tags(out, message.node_endpoints)
    if out:
        buffers.append(out)
    return buffers


def _write_topic_head(out: bytearray, topic: FetchableTopicResponse, version: int) -> None:
    if version >= 13:
        out += _UUID.pack(topic.topic_id)
    elif version >= FLEXIBLE_FROM:
        write_compact_string(out, topic.topic)
    else:
        write_string(out, topic.topic)


def _write_partition_head(out: bytearray, data: PartitionData, version: int) -> None:
    """Everything in front of the records."""
    if version >= 5:
        out += _PARTITION_V5.pack(
            data.partition_index,
            data.error_code,
            data.high_watermark,
            data.last_stable_offset,
            data.log_start_offset,
        )
    else:
        out += _PARTITION_V4.pack(
            data.partition_index, data.error_code, data.high_watermark, data.last_stable_offset
        )
    _write_aborted_transactions(out, data, version)
    if version >= 11:
        out += _INT32.pack(data.preferred_read_replica)
    elif data.preferred_read_replica != -1:
        raise unsupported_field("PartitionData.preferred_read_replica", 4, 10)
    if version < FLEXIBLE_FROM:
        _refuse_tagged(data)


def _write_aborted_transactions(out: bytearray, data: PartitionData, version: int) -> None:
    aborted = data.aborted_transactions
    count = -1 if aborted is None else len(aborted)
    if version >= FLEXIBLE_FROM:
        write_compact_array_length(out, count)
    else:
        write_array_length(out, count)
    for transaction in aborted or ():
        out += _INT64_INT64.pack(transaction.producer_id, transaction.first_offset)
        if version >= FLEXIBLE_FROM:
            out.append(0)


def _write_records_size(out: bytearray, records: Buffer | None, version: int) -> None:
    size = -1 if records is None else len(records)
    if version >= FLEXIBLE_FROM:
        write_uvarint(out, size + 1)
    else:
        out += _INT32.pack(size)


def _refuse_tagged(data: PartitionData) -> None:
    if data.diverging_epoch != _NO_EPOCH:
        raise unsupported_field("PartitionData.diverging_epoch", 4, 11)
    if data.current_leader != _NO_LEADER:
        raise unsupported_field("PartitionData.current_leader", 4, 11)
    if data.snapshot_id != _NO_SNAPSHOT:
        raise unsupported_field("PartitionData.snapshot_id", 4, 11)


def _write_partition_tags(out: bytearray, data: PartitionData) -> None:
    diverging, leader, snapshot = data.diverging_epoch, data.current_leader, data.snapshot_id
    tagged: list[tuple[int, bytearray]] = []
    if diverging != _NO_EPOCH:
        tagged.append((0, bytearray(_INT32_INT64.pack(diverging.epoch, diverging.end_offset) + b"\0")))
    if leader != _NO_LEADER:
        tagged.append((1, bytearray(_INT32_INT32.pack(leader.leader_id, leader.leader_epoch) + b"\0")))
    if snapshot != _NO_SNAPSHOT:
        tagged.append((2, bytearray(_INT64_INT32.pack(snapshot.end_offset, snapshot.epoch) + b"\0")))
    write_tagged_fields(out, tagged)


def _write_top_tags(out: bytearray, endpoints: list[NodeEndpoint]) -> None:
    if not endpoints:
        out.append(0)
        return
    value = bytearray()
    write_compact_array_length(value, len(endpoints))
    for endpoint in endpoints:
        value += _INT32.pack(endpoint.node_id)
        write_compact_string(value, endpoint.host)
        value += _INT32.pack(endpoint.port)
        write_compact_nullable_string(value, endpoint.rack)
        value.append(0)
    write_tagged_fields(out, [(0, value)])
