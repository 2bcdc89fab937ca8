"""ListConfigResourcesRequest and ListConfigResourcesResponse.

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
    read_compact_array_length,
    read_compact_string,
    read_int8s,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_int8s,
)

API_KEY: Final = 74
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_b: Final = struct.Struct(">b")
_PACKED_ih: Final = struct.Struct(">ih")


class ListConfigResourcesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_types: list[int] = []


class ConfigResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_name: str = ""
    resource_type: int = 16


class ListConfigResourcesResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ConfigResource] = []


def _read_list_config_resources_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ListConfigResourcesRequest, int]:
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListConfigResourcesRequest(), pos


def _write_list_config_resources_request_v0(out: bytearray, message: ListConfigResourcesRequest) -> None:
    if message.resource_types != []:
        raise unsupported_field("ListConfigResourcesRequest.resource_types", 0, 0)
    out.append(0)


def _read_list_config_resources_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ListConfigResourcesRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    resource_types, pos = read_int8s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ListConfigResourcesRequest(resource_types=resource_types), pos


def _write_list_config_resources_request_v1(out: bytearray, message: ListConfigResourcesRequest) -> None:
    resource_types = message.resource_types
    write_compact_array_length(out, len(resource_types))
    write_int8s(out, resource_types)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ListConfigResourcesRequest, int]], ...]] = (
    _read_list_config_resources_request_v0,
    _read_list_config_resources_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ListConfigResourcesRequest], None], ...]] = (
    _write_list_config_resources_request_v0,
    _write_list_config_resources_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ListConfigResourcesRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("ListConfigResourcesRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListConfigResourcesRequest is cut short") from error


def encode_request_into(out: bytearray, message: ListConfigResourcesRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("ListConfigResourcesRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListConfigResourcesRequest holds a value out of range: {error}") from error


def encode_request(message: ListConfigResourcesRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_config_resource_v0(buf: Buffer, pos: int) -> tuple[ConfigResource, int]:
    resource_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ConfigResource(resource_name=resource_name), pos


def _write_config_resource_v0(out: bytearray, message: ConfigResource) -> None:
    write_compact_string(out, message.resource_name)
    out.append(0)


def _read_config_resource_v1(buf: Buffer, pos: int) -> tuple[ConfigResource, int]:
    resource_name, pos = read_compact_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ConfigResource(resource_name=resource_name, resource_type=resource_type), pos


def _write_config_resource_v1(out: bytearray, message: ConfigResource) -> None:
    write_compact_string(out, message.resource_name)
    out += _PACKED_b.pack(message.resource_type)
    out.append(0)


def _read_list_config_resources_response_v0(buf: Buffer, pos: int) -> tuple[ListConfigResourcesResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 2)
    config_resources: list[ConfigResource] = []
    for _ in range(count):
        config_resources_item, pos = _read_config_resource_v0(buf, pos)
        config_resources.append(config_resources_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListConfigResourcesResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        config_resources=config_resources,
    )
    return value, pos


def _write_list_config_resources_response_v0(out: bytearray, message: ListConfigResourcesResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    config_resources = message.config_resources
    write_compact_array_length(out, len(config_resources))
    for config_resources_item in config_resources:
        _write_config_resource_v0(out, config_resources_item)
    out.append(0)


def _read_list_config_resources_response_v1(buf: Buffer, pos: int) -> tuple[ListConfigResourcesResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    config_resources: list[ConfigResource] = []
    for _ in range(count):
        config_resources_item, pos = _read_config_resource_v1(buf, pos)
        config_resources.append(config_resources_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListConfigResourcesResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        config_resources=config_resources,
    )
    return value, pos


def _write_list_config_resources_response_v1(out: bytearray, message: ListConfigResourcesResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    config_resources = message.config_resources
    write_compact_array_length(out, len(config_resources))
    for config_resources_item in config_resources:
        _write_config_resource_v1(out, config_resources_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ListConfigResourcesResponse, int]], ...]] = (
    _read_list_config_resources_response_v0,
    _read_list_config_resources_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ListConfigResourcesResponse], None], ...]] = (
    _write_list_config_resources_response_v0,
    _write_list_config_resources_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ListConfigResourcesResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("ListConfigResourcesResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListConfigResourcesResponse is cut short") from error


def encode_response_into(out: bytearray, message: ListConfigResourcesResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("ListConfigResourcesResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListConfigResourcesResponse holds a value out of range: {error}") from error


def encode_response(message: ListConfigResourcesResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
