"""DeleteGroupsRequest and DeleteGroupsResponse.

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
    read_strings,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_compact_strings,
    write_string,
    write_strings,
)

API_KEY: Final = 42
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")


class DeleteGroupsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    groups_names: list[str] = []


class DeletableGroupResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    error_code: int = 0


class DeleteGroupsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    results: list[DeletableGroupResult] = []


def _read_delete_groups_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteGroupsRequest, int]:
    count, pos = read_array_length(buf, pos, 2)
    budget.take(count)
    groups_names, pos = read_strings(buf, pos, count)
    return DeleteGroupsRequest(groups_names=groups_names), pos


def _write_delete_groups_request_v0(out: bytearray, message: DeleteGroupsRequest) -> None:
    groups_names = message.groups_names
    write_array_length(out, len(groups_names))
    write_strings(out, groups_names)


def _read_delete_groups_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteGroupsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    groups_names, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteGroupsRequest(groups_names=groups_names), pos


def _write_delete_groups_request_v2(out: bytearray, message: DeleteGroupsRequest) -> None:
    groups_names = message.groups_names
    write_compact_array_length(out, len(groups_names))
    write_compact_strings(out, groups_names)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DeleteGroupsRequest, int]], ...]] = (
    _read_delete_groups_request_v0,
    _read_delete_groups_request_v0,
    _read_delete_groups_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DeleteGroupsRequest], None], ...]] = (
    _write_delete_groups_request_v0,
    _write_delete_groups_request_v0,
    _write_delete_groups_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DeleteGroupsRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteGroupsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteGroupsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DeleteGroupsRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteGroupsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteGroupsRequest holds a value out of range: {error}") from error


def encode_request(message: DeleteGroupsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_deletable_group_result_v0(buf: Buffer, pos: int) -> tuple[DeletableGroupResult, int]:
    group_id, pos = read_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    return DeletableGroupResult(group_id=group_id, error_code=error_code), pos


def _write_deletable_group_result_v0(out: bytearray, message: DeletableGroupResult) -> None:
    write_string(out, message.group_id)
    out += _PACKED_h.pack(message.error_code)


def _read_deletable_group_result_v2(buf: Buffer, pos: int) -> tuple[DeletableGroupResult, int]:
    group_id, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeletableGroupResult(group_id=group_id, error_code=error_code), pos


def _write_deletable_group_result_v2(out: bytearray, message: DeletableGroupResult) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_delete_groups_response_v0(buf: Buffer, pos: int) -> tuple[DeleteGroupsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 4)
    results: list[DeletableGroupResult] = []
    for _ in range(count):
        results_item, pos = _read_deletable_group_result_v0(buf, pos)
        results.append(results_item)
    return DeleteGroupsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_delete_groups_response_v0(out: bytearray, message: DeleteGroupsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_array_length(out, len(results))
    for results_item in results:
        _write_deletable_group_result_v0(out, results_item)


def _read_delete_groups_response_v2(buf: Buffer, pos: int) -> tuple[DeleteGroupsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 4)
    results: list[DeletableGroupResult] = []
    for _ in range(count):
        results_item, pos = _read_deletable_group_result_v2(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteGroupsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_delete_groups_response_v2(out: bytearray, message: DeleteGroupsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_deletable_group_result_v2(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DeleteGroupsResponse, int]], ...]] = (
    _read_delete_groups_response_v0,
    _read_delete_groups_response_v0,
    _read_delete_groups_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DeleteGroupsResponse], None], ...]] = (
    _write_delete_groups_response_v0,
    _write_delete_groups_response_v0,
    _write_delete_groups_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DeleteGroupsResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteGroupsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteGroupsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DeleteGroupsResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DeleteGroupsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteGroupsResponse holds a value out of range: {error}") from error


def encode_response(message: DeleteGroupsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
