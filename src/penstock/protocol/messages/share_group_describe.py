"""ShareGroupDescribeRequest and ShareGroupDescribeResponse.

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

API_KEY: Final = 77
VERSIONS: Final = range(1, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_u: Final = struct.Struct(">16s")


class ShareGroupDescribeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_ids: list[str] = []
    include_authorized_operations: bool = False


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    partitions: list[int] = []


class Assignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_partitions: list[TopicPartitions] = []


class Member(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    member_id: str = ""
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    assignment: Assignment = Assignment()


class DescribedGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[Member] = []
    authorized_operations: int = -2147483648


class ShareGroupDescribeResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []


def _read_share_group_describe_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ShareGroupDescribeRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    group_ids, pos = read_compact_strings(buf, pos, count)
    include_authorized_operations = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ShareGroupDescribeRequest(
        group_ids=group_ids,
        include_authorized_operations=include_authorized_operations,
    )
    return value, pos


def _write_share_group_describe_request_v1(out: bytearray, message: ShareGroupDescribeRequest) -> None:
    group_ids = message.group_ids
    write_compact_array_length(out, len(group_ids))
    write_compact_strings(out, group_ids)
    out += _PACKED_o.pack(message.include_authorized_operations)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ShareGroupDescribeRequest, int]], ...]] = (
    _read_share_group_describe_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupDescribeRequest], None], ...]] = (
    _write_share_group_describe_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ShareGroupDescribeRequest:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupDescribeRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupDescribeRequest is cut short") from error


def encode_request_into(out: bytearray, message: ShareGroupDescribeRequest, version: int) -> None:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupDescribeRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupDescribeRequest holds a value out of range: {error}") from error


def encode_request(message: ShareGroupDescribeRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_topic_partitions_v1(buf: Buffer, pos: int) -> tuple[TopicPartitions, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicPartitions(topic_id=topic_id, topic_name=topic_name, partitions=partitions), pos


def _write_topic_partitions_v1(out: bytearray, message: TopicPartitions) -> None:
    out += _PACKED_u.pack(message.topic_id)
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_assignment_v1(buf: Buffer, pos: int) -> tuple[Assignment, int]:
    count, pos = read_compact_array_length(buf, pos, 19)
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


def _read_member_v1(buf: Buffer, pos: int) -> tuple[Member, int]:
    member_id, pos = read_compact_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    member_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 1)
    subscribed_topic_names, pos = read_compact_strings(buf, pos, count)
    assignment, pos = _read_assignment_v1(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = Member(
        member_id=member_id,
        rack_id=rack_id,
        member_epoch=member_epoch,
        client_id=client_id,
        client_host=client_host,
        subscribed_topic_names=subscribed_topic_names,
        assignment=assignment,
    )
    return value, pos


def _write_member_v1(out: bytearray, message: Member) -> None:
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.rack_id)
    out += _PACKED_i.pack(message.member_epoch)
    write_compact_string(out, message.client_id)
    write_compact_string(out, message.client_host)
    subscribed_topic_names = message.subscribed_topic_names
    write_compact_array_length(out, len(subscribed_topic_names))
    write_compact_strings(out, subscribed_topic_names)
    _write_assignment_v1(out, message.assignment)
    out.append(0)


def _read_described_group_v1(buf: Buffer, pos: int) -> tuple[DescribedGroup, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    group_id, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    group_epoch, assignment_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    assignor_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 12)
    members: list[Member] = []
    for _ in range(count):
        members_item, pos = _read_member_v1(buf, pos)
        members.append(members_item)
    authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribedGroup(
        error_code=error_code,
        error_message=error_message,
        group_id=group_id,
        group_state=group_state,
        group_epoch=group_epoch,
        assignment_epoch=assignment_epoch,
        assignor_name=assignor_name,
        members=members,
        authorized_operations=authorized_operations,
    )
    return value, pos


def _write_described_group_v1(out: bytearray, message: DescribedGroup) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.group_state)
    out += _PACKED_ii.pack(message.group_epoch, message.assignment_epoch)
    write_compact_string(out, message.assignor_name)
    members = message.members
    write_compact_array_length(out, len(members))
    for members_item in members:
        _write_member_v1(out, members_item)
    out += _PACKED_i.pack(message.authorized_operations)
    out.append(0)


def _read_share_group_describe_response_v1(buf: Buffer, pos: int) -> tuple[ShareGroupDescribeResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 20)
    groups: list[DescribedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_described_group_v1(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ShareGroupDescribeResponse(throttle_time_ms=throttle_time_ms, groups=groups), pos


def _write_share_group_describe_response_v1(out: bytearray, message: ShareGroupDescribeResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_described_group_v1(out, groups_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupDescribeResponse, int]], ...]] = (
    _read_share_group_describe_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupDescribeResponse], None], ...]] = (
    _write_share_group_describe_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ShareGroupDescribeResponse:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupDescribeResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupDescribeResponse is cut short") from error


def encode_response_into(out: bytearray, message: ShareGroupDescribeResponse, version: int) -> None:
    if not 1 <= version <= 1:
        raise unsupported_version("ShareGroupDescribeResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupDescribeResponse holds a value out of range: {error}") from error


def encode_response(message: ShareGroupDescribeResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
