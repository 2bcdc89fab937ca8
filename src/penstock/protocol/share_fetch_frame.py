"""Encodes a ShareFetchResponse without copying the records in it, as `fetch_frame` does a FetchResponse.

The result is a list of buffers whose concatenation is what `messages.share_fetch.encode_response` would return; each
partition's records are one of the buffers, the very object that the message holds.
"""

import struct
from typing import Final

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.share_fetch import VERSIONS, NodeEndpoint, PartitionData, ShareFetchResponse
from penstock.protocol.wire import (
    Buffer,
    required_records,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_uvarint,
)

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT32_INT16: Final = struct.Struct(">ih")
_LEADER: Final = struct.Struct(">iib")  # and no tagged fields
_ACQUIRED: Final = struct.Struct(">qqhb")
_UUID: Final = struct.Struct(">16s")


def encode_share_fetch_response(message: ShareFetchResponse, version: int) -> list[Buffer]:
    """The body of the response as buffers to be written one after the other."""
    if version not in VERSIONS:
        raise unsupported_version("ShareFetchResponse", version)
    try:
        return _encode(message)
    except struct.error as error:
        raise ProtocolError(f"ShareFetchResponse holds a value out of range: {error}") from error


def _encode(message: ShareFetchResponse) -> list[Buffer]:
    buffers: list[Buffer] = []
    out = bytearray(_INT32_INT16.pack(message.throttle_time_ms, message.error_code))
    write_compact_nullable_string(out, message.error_message)
    out += _INT32.pack(message.acquisition_lock_timeout_ms)
    write_compact_array_length(out, len(message.responses))
    for topic in message.responses:
        out += _UUID.pack(topic.topic_id)
        write_compact_array_length(out, len(topic.partitions))
        for partition in topic.partitions:
            _write_partition_head(out, partition)
            records = required_records(partition.records, "PartitionData.records")
            write_uvarint(out, len(records) + 1)
            if records:
                buffers += (out, records)
                out = bytearray()
            _write_acquired(out, partition)
        out.append(0)
    _write_endpoints(out, message.node_endpoints)
    buffers.append(out)
    return buffers


def _write_partition_head(out: bytearray, data: PartitionData) -> None:
    """Everything in front of the records."""
    out += _INT32_INT16.pack(data.partition_index, data.error_code)
    write_compact_nullable_string(out, data.error_message)
    out += _INT16.pack(data.acknowledge_error_code)
    write_compact_nullable_string(out, data.acknowledge_error_message)
    out += _LEADER.pack(data.current_leader.leader_id, data.current_leader.leader_epoch, 0)


def _write_acquired(out: bytearray, data: PartitionData) -> None:
    """Everything behind them."""
    write_compact_array_length(out, len(data.acquired_records))
    for acquired in data.acquired_records:
        out += _ACQUIRED.pack(acquired.first_offset, acquired.last_offset, acquired.delivery_count, 0)
    out.append(0)


def _write_endpoints(out: bytearray, endpoints: list[NodeEndpoint]) -> None:
    write_compact_array_length(out, len(endpoints))
    for endpoint in endpoints:
        out += _INT32.pack(endpoint.node_id)
        write_compact_string(out, endpoint.host)
        out += _INT32.pack(endpoint.port)
        write_compact_nullable_string(out, endpoint.rack)
        out.append(0)
    out.append(0)
