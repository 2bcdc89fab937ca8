"""ShareGroupHeartbeatRequest and ShareGroupHeartbeatResponse.

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
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_int32s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int32s,
)

API_KEY: Final = 76
VERSIONS: Final = range(1, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_u: Final = struct.Struct(">16s")


class ShareGroupHeartbeatRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    rack_id: str | None = None
    subscribed_topic_names: list[str] | None = None


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class Assignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_partitions: list[TopicPartitions] = []


class ShareGroupHeartbeatResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


def _read_share_group_heartbeat_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ShareGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    rack_id, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 1)
    budget.take(count)
    subscribed_topic_names: list[str] | None = None
    if count >= 0:
        subscribed_topic_names, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ShareGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=member_epoch,
        rack_id=rack_id,
        subscribed_topic_names=subscribed_topic_names,
    )
    return value, pos


def _write_share_group_heartbeat_request_v1(out: bytearray, message: ShareGroupHeartbeatRequest) -> None:
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.member_id)
    out += _PACKED_i.pack(message.member_epoch)
    write_compact_nullable_string(out, message.rack_id)
    subscribed_topic_names = message.subscribed_topic_names
    if subscribed_topic_names is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(subscribed_topic_names))
        write_compact_strings(out, subscribed_topic_names)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ShareGroupHeartbeatRequest, int]], ...]] = (
    _read_share_group_heartbeat_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupHeartbeatRequest], None], ...]] = (
    _write_share_group_heartbeat_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ShareGroupHeartbeatRequest:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupHeartbeatRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupHeartbeatRequest is cut short") from error


def encode_request_into(out: bytearray, message: ShareGroupHeartbeatRequest, version: int) -> None:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupHeartbeatRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupHeartbeatRequest holds a value out of range: {error}") from error


def encode_request(message: ShareGroupHeartbeatRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_topic_partitions_v1(buf: Buffer, pos: int) -> tuple[TopicPartitions, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicPartitions(topic_id=topic_id, partitions=partitions), pos


def _write_topic_partitions_v1(out: bytearray, message: TopicPartitions) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_assignment_v1(buf: Buffer, pos: int) -> tuple[Assignment, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    topic_partitions: list[TopicPartitions] = []
    for _ in range(count):
        topic_partitions_item, pos = _read_topic_partitions_v1(buf, pos)
        topic_partitions.append(topic_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Assignment(topic_partitions=topic_partitions), pos


def _write_assignment_v1(out: bytearray, message: Assignment) -> None:
    topic_partitions = message.topic_partitions
    write_compact_array_length(out, len(topic_partitions))
    for topic_partitions_item in topic_partitions:
        _write_topic_partitions_v1(out, topic_partitions_item)
    out.append(0)


def _read_share_group_heartbeat_response_v1(buf: Buffer, pos: int) -> tuple[ShareGroupHeartbeatResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    member_epoch, heartbeat_interval_ms = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    assignment: Assignment | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        assignment, pos = _read_assignment_v1(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ShareGroupHeartbeatResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        member_id=member_id,
        member_epoch=member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        assignment=assignment,
    )
    return value, pos


def _write_share_group_heartbeat_response_v1(out: bytearray, message: ShareGroupHeartbeatResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_ii.pack(message.member_epoch, message.heartbeat_interval_ms)
    if message.assignment is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_assignment_v1(out, message.assignment)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupHeartbeatResponse, int]], ...]] = (
    _read_share_group_heartbeat_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupHeartbeatResponse], None], ...]] = (
    _write_share_group_heartbeat_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ShareGroupHeartbeatResponse:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupHeartbeatResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupHeartbeatResponse is cut short") from error


def encode_response_into(out: bytearray, message: ShareGroupHeartbeatResponse, version: int) -> None:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupHeartbeatResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupHeartbeatResponse holds a value out of range: {error}") from error


def encode_response(message: ShareGroupHeartbeatResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
