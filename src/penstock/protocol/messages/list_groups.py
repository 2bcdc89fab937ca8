"""ListGroupsRequest and ListGroupsResponse.

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
    read_array_length,
    read_compact_array_length,
    read_compact_string,
    read_compact_strings,
    read_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_compact_strings,
    write_string,
)

API_KEY: Final = 16
VERSIONS: Final = range(0, 6)
FLEXIBLE_FROM: Final = 3

_PACKED_h: Final = struct.Struct(">h")
_PACKED_ih: Final = struct.Struct(">ih")


class ListGroupsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    states_filter: list[str] = []
    types_filter: list[str] = []


class ListedGroup(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    protocol_type: str = ""
    group_state: str = ""
    group_type: str = ""


class ListGroupsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    groups: list[ListedGroup] = []


def _read_list_groups_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ListGroupsRequest, int]:
    return ListGroupsRequest(), pos


def _write_list_groups_request_v0(out: bytearray, message: ListGroupsRequest) -> None:
    if message.states_filter != []:
        raise unsupported_field("ListGroupsRequest.states_filter", 0, 2)
    if message.types_filter != []:
        raise unsupported_field("ListGroupsRequest.types_filter", 0, 2)


def _read_list_groups_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[ListGroupsRequest, int]:
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListGroupsRequest(), pos


def _write_list_groups_request_v3(out: bytearray, message: ListGroupsRequest) -> None:
    if message.states_filter != []:
        raise unsupported_field("ListGroupsRequest.states_filter", 3, 3)
    if message.types_filter != []:
        raise unsupported_field("ListGroupsRequest.types_filter", 3, 3)
    out.append(0)


def _read_list_groups_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[ListGroupsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    states_filter, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListGroupsRequest(states_filter=states_filter), pos


def _write_list_groups_request_v4(out: bytearray, message: ListGroupsRequest) -> None:
    if message.types_filter != []:
        raise unsupported_field("ListGroupsRequest.types_filter", 4, 4)
    states_filter = message.states_filter
    write_compact_array_length(out, len(states_filter))
    write_compact_strings(out, states_filter)
    out.append(0)


def _read_list_groups_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[ListGroupsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    states_filter, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    types_filter, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListGroupsRequest(states_filter=states_filter, types_filter=types_filter), pos


def _write_list_groups_request_v5(out: bytearray, message: ListGroupsRequest) -> None:
    states_filter = message.states_filter
    write_compact_array_length(out, len(states_filter))
    write_compact_strings(out, states_filter)
    types_filter = message.types_filter
    write_compact_array_length(out, len(types_filter))
    write_compact_strings(out, types_filter)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ListGroupsRequest, int]], ...]] = (
    _read_list_groups_request_v0,
    _read_list_groups_request_v0,
    _read_list_groups_request_v0,
    _read_list_groups_request_v3,
    _read_list_groups_request_v4,
    _read_list_groups_request_v5,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ListGroupsRequest], None], ...]] = (
    _write_list_groups_request_v0,
    _write_list_groups_request_v0,
    _write_list_groups_request_v0,
    _write_list_groups_request_v3,
    _write_list_groups_request_v4,
    _write_list_groups_request_v5,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ListGroupsRequest:
    if not 0 <= version <= 5:
        raise unsupported_version("ListGroupsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListGroupsRequest is cut short") from error


def encode_request_into(out: bytearray, message: ListGroupsRequest, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("ListGroupsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListGroupsRequest holds a value out of range: {error}") from error


def encode_request(message: ListGroupsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_listed_group_v0(buf: Buffer, pos: int) -> tuple[ListedGroup, int]:
    group_id, pos = read_string(buf, pos)
    protocol_type, pos = read_string(buf, pos)
    return ListedGroup(group_id=group_id, protocol_type=protocol_type), pos


def _write_listed_group_v0(out: bytearray, message: ListedGroup) -> None:
    write_string(out, message.group_id)
    write_string(out, message.protocol_type)


def _read_listed_group_v3(buf: Buffer, pos: int) -> tuple[ListedGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ListedGroup(group_id=group_id, protocol_type=protocol_type), pos


def _write_listed_group_v3(out: bytearray, message: ListedGroup) -> None:
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.protocol_type)
    out.append(0)


def _read_listed_group_v4(buf: Buffer, pos: int) -> tuple[ListedGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ListedGroup(group_id=group_id, protocol_type=protocol_type, group_state=group_state), pos


def _write_listed_group_v4(out: bytearray, message: ListedGroup) -> None:
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.protocol_type)
    write_compact_string(out, message.group_state)
    out.append(0)


def _read_listed_group_v5(buf: Buffer, pos: int) -> tuple[ListedGroup, int]:
    group_id, pos = read_compact_string(buf, pos)
    protocol_type, pos = read_compact_string(buf, pos)
    group_state, pos = read_compact_string(buf, pos)
    group_type, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListedGroup(
        group_id=group_id,
        protocol_type=protocol_type,
        group_state=group_state,
        group_type=group_type,
    )
    return value, pos


def _write_listed_group_v5(out: bytearray, message: ListedGroup) -> None:
    write_compact_string(out, message.group_id)
    write_compact_string(out, message.protocol_type)
    write_compact_string(out, message.group_state)
    write_compact_string(out, message.group_type)
    out.append(0)


def _read_list_groups_response_v0(buf: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_array_length(buf, pos, 4)
    groups: list[ListedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_listed_group_v0(buf, pos)
        groups.append(groups_item)
    return ListGroupsResponse(error_code=error_code, groups=groups), pos


def _write_list_groups_response_v0(out: bytearray, message: ListGroupsResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    groups = message.groups
    write_array_length(out, len(groups))
    for groups_item in groups:
        _write_listed_group_v0(out, groups_item)


def _read_list_groups_response_v1(buf: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_array_length(buf, pos, 4)
    groups: list[ListedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_listed_group_v0(buf, pos)
        groups.append(groups_item)
    value = ListGroupsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        groups=groups,
    )
    return value, pos


def _write_list_groups_response_v1(out: bytearray, message: ListGroupsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    groups = message.groups
    write_array_length(out, len(groups))
    for groups_item in groups:
        _write_listed_group_v0(out, groups_item)


def _read_list_groups_response_v3(buf: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    groups: list[ListedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_listed_group_v3(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListGroupsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        groups=groups,
    )
    return value, pos


def _write_list_groups_response_v3(out: bytearray, message: ListGroupsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_listed_group_v3(out, groups_item)
    out.append(0)


def _read_list_groups_response_v4(buf: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 4)
    groups: list[ListedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_listed_group_v4(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListGroupsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        groups=groups,
    )
    return value, pos


def _write_list_groups_response_v4(out: bytearray, message: ListGroupsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_listed_group_v4(out, groups_item)
    out.append(0)


def _read_list_groups_response_v5(buf: Buffer, pos: int) -> tuple[ListGroupsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 5)
    groups: list[ListedGroup] = []
    for _ in range(count):
        groups_item, pos = _read_listed_group_v5(buf, pos)
        groups.append(groups_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListGroupsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        groups=groups,
    )
    return value, pos


def _write_list_groups_response_v5(out: bytearray, message: ListGroupsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    groups = message.groups
    write_compact_array_length(out, len(groups))
    for groups_item in groups:
        _write_listed_group_v5(out, groups_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ListGroupsResponse, int]], ...]] = (
    _read_list_groups_response_v0,
    _read_list_groups_response_v1,
    _read_list_groups_response_v1,
    _read_list_groups_response_v3,
    _read_list_groups_response_v4,
    _read_list_groups_response_v5,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ListGroupsResponse], None], ...]] = (
    _write_list_groups_response_v0,
    _write_list_groups_response_v1,
    _write_list_groups_response_v1,
    _write_list_groups_response_v3,
    _write_list_groups_response_v4,
    _write_list_groups_response_v5,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ListGroupsResponse:
    if not 0 <= version <= 5:
        raise unsupported_version("ListGroupsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListGroupsResponse is cut short") from error


def encode_response_into(out: bytearray, message: ListGroupsResponse, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("ListGroupsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListGroupsResponse holds a value out of range: {error}") from error


def encode_response(message: ListGroupsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
