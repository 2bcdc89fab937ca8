"""ConsumerGroupHeartbeatRequest and ConsumerGroupHeartbeatResponse.

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
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int32s,
)

API_KEY: Final = 68
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_u: Final = struct.Struct(">16s")


class RequestTopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class ConsumerGroupHeartbeatRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: list[RequestTopicPartitions] | None = None


class ResponseTopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[int] = []


class Assignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_partitions: list[ResponseTopicPartitions] = []


class ConsumerGroupHeartbeatResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


def _read_request_topic_partitions_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicPartitions, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicPartitions(topic_id=topic_id, partitions=partitions), pos


def _write_request_topic_partitions_v0(out: bytearray, message: RequestTopicPartitions) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_consumer_group_heartbeat_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ConsumerGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    rebalance_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 1)
    budget.take(count)
    subscribed_topic_names: list[str] | None = None
    if count >= 0:
        subscribed_topic_names, pos = read_compact_strings(buf, pos, count)
    server_assignor, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 18)
    budget.take(count)
    topic_partitions: list[RequestTopicPartitions] | None = None
    if count >= 0:
        topic_partitions = []
        for _ in range(count):
            topic_partitions_item, pos = _read_request_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=member_epoch,
        instance_id=instance_id,
        rack_id=rack_id,
        rebalance_timeout_ms=rebalance_timeout_ms,
        subscribed_topic_names=subscribed_topic_names,
        server_assignor=server_assignor,
        topic_partitions=topic_partitions,
    )
    return value, pos


def _write_consumer_group_heartbeat_request_v0(out: bytearray, message: ConsumerGroupHeartbeatRequest) -> None:
    if message.subscribed_topic_regex is not None:
        raise unsupported_field("ConsumerGroupHeartbeatRequest.subscribed_topic_regex", 0, 0)
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.member_id)
    out += _PACKED_i.pack(message.member_epoch)
    write_compact_nullable_string(out, message.instance_id)
    write_compact_nullable_string(out, message.rack_id)
    out += _PACKED_i.pack(message.rebalance_timeout_ms)
    subscribed_topic_names = message.subscribed_topic_names
    if subscribed_topic_names is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(subscribed_topic_names))
        write_compact_strings(out, subscribed_topic_names)
    write_compact_nullable_string(out, message.server_assignor)
    topic_partitions = message.topic_partitions
    if topic_partitions is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topic_partitions))
        for topic_partitions_item in topic_partitions:
            _write_request_topic_partitions_v0(out, topic_partitions_item)
    out.append(0)


def _read_consumer_group_heartbeat_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ConsumerGroupHeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    member_id, pos = read_compact_string(buf, pos)
    member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    rebalance_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_nullable_array_length(buf, pos, 1)
    budget.take(count)
    subscribed_topic_names: list[str] | None = None
    if count >= 0:
        subscribed_topic_names, pos = read_compact_strings(buf, pos, count)
    subscribed_topic_regex, pos = read_compact_nullable_string(buf, pos)
    server_assignor, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 18)
    budget.take(count)
    topic_partitions: list[RequestTopicPartitions] | None = None
    if count >= 0:
        topic_partitions = []
        for _ in range(count):
            topic_partitions_item, pos = _read_request_topic_partitions_v0(buf, pos, budget)
            topic_partitions.append(topic_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=member_epoch,
        instance_id=instance_id,
        rack_id=rack_id,
        rebalance_timeout_ms=rebalance_timeout_ms,
        subscribed_topic_names=subscribed_topic_names,
        subscribed_topic_regex=subscribed_topic_regex,
        server_assignor=server_assignor,
        topic_partitions=topic_partitions,
    )
    return value, pos


def _write_consumer_group_heartbeat_request_v1(out: bytearray, message: ConsumerGroupHeartbeatRequest) -> None:
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.member_id)
    out += _PACKED_i.pack(message.member_epoch)
    write_compact_nullable_string(out, message.instance_id)
    write_compact_nullable_string(out, message.rack_id)
    out += _PACKED_i.pack(message.rebalance_timeout_ms)
    subscribed_topic_names = message.subscribed_topic_names
    if subscribed_topic_names is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(subscribed_topic_names))
        write_compact_strings(out, subscribed_topic_names)
    write_compact_nullable_string(out, message.subscribed_topic_regex)
    write_compact_nullable_string(out, message.server_assignor)
    topic_partitions = message.topic_partitions
    if topic_partitions is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(topic_partitions))
        for topic_partitions_item in topic_partitions:
            _write_request_topic_partitions_v0(out, topic_partitions_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ConsumerGroupHeartbeatRequest, int]], ...]] = (
    _read_consumer_group_heartbeat_request_v0,
    _read_consumer_group_heartbeat_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupHeartbeatRequest], None], ...]] = (
    _write_consumer_group_heartbeat_request_v0,
    _write_consumer_group_heartbeat_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupHeartbeatRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("ConsumerGroupHeartbeatRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupHeartbeatRequest is cut short") from error


def encode_request_into(out: bytearray, message: ConsumerGroupHeartbeatRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("ConsumerGroupHeartbeatRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupHeartbeatRequest holds a value out of range: {error}") from error


def encode_request(message: ConsumerGroupHeartbeatRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_response_topic_partitions_v0(buf: Buffer, pos: int) -> tuple[ResponseTopicPartitions, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTopicPartitions(topic_id=topic_id, partitions=partitions), pos


def _write_response_topic_partitions_v0(out: bytearray, message: ResponseTopicPartitions) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_assignment_v0(buf: Buffer, pos: int) -> tuple[Assignment, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    topic_partitions: list[ResponseTopicPartitions] = []
    for _ in range(count):
        topic_partitions_item, pos = _read_response_topic_partitions_v0(buf, pos)
        topic_partitions.append(topic_partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Assignment(topic_partitions=topic_partitions), pos


def _write_assignment_v0(out: bytearray, message: Assignment) -> None:
    topic_partitions = message.topic_partitions
    write_compact_array_length(out, len(topic_partitions))
    for topic_partitions_item in topic_partitions:
        _write_response_topic_partitions_v0(out, topic_partitions_item)
    out.append(0)


def _read_consumer_group_heartbeat_response_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupHeartbeatResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    member_id, pos = read_compact_nullable_string(buf, pos)
    member_epoch, heartbeat_interval_ms = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    assignment: Assignment | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        assignment, pos = _read_assignment_v0(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ConsumerGroupHeartbeatResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        member_id=member_id,
        member_epoch=member_epoch,
        heartbeat_interval_ms=heartbeat_interval_ms,
        assignment=assignment,
    )
    return value, pos


def _write_consumer_group_heartbeat_response_v0(out: bytearray, message: ConsumerGroupHeartbeatResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_nullable_string(out, message.member_id)
    out += _PACKED_ii.pack(message.member_epoch, message.heartbeat_interval_ms)
    if message.assignment is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_assignment_v0(out, message.assignment)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupHeartbeatResponse, int]], ...]] = (
    _read_consumer_group_heartbeat_response_v0,
    _read_consumer_group_heartbeat_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupHeartbeatResponse], None], ...]] = (
    _write_consumer_group_heartbeat_response_v0,
    _write_consumer_group_heartbeat_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupHeartbeatResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("ConsumerGroupHeartbeatResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupHeartbeatResponse is cut short") from error


def encode_response_into(out: bytearray, message: ConsumerGroupHeartbeatResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("ConsumerGroupHeartbeatResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupHeartbeatResponse holds a value out of range: {error}") from error


def encode_response(message: ConsumerGroupHeartbeatResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
