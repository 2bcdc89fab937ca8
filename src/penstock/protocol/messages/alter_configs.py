"""AlterConfigsRequest and AlterConfigsResponse.

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
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 33
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 2

_PACKED_b: Final = struct.Struct(">b")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_o: Final = struct.Struct(">?")


class AlterableConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    value: str | None = ""


class AlterConfigsResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = []


class AlterConfigsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resources: list[AlterConfigsResource] = []
    validate_only: bool = False


class AlterConfigsResourceResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""


class AlterConfigsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    responses: list[AlterConfigsResourceResponse] = []


def _read_alterable_config_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterableConfig, int]:
    name, pos = read_string(buf, pos)
    value_, pos = read_nullable_string(buf, pos)
    return AlterableConfig(name=name, value=value_), pos


def _write_alterable_config_v0(out: bytearray, message: AlterableConfig) -> None:
    write_string(out, message.name)
    write_nullable_string(out, message.value)


def _read_alterable_config_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterableConfig, int]:
    name, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterableConfig(name=name, value=value_), pos


def _write_alterable_config_v2(out: bytearray, message: AlterableConfig) -> None:
    write_compact_string(out, message.name)
    write_compact_nullable_string(out, message.value)
    out.append(0)


def _read_alter_configs_resource_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterConfigsResource, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    configs: list[AlterableConfig] = []
    for _ in range(count):
        configs_item, pos = _read_alterable_config_v0(buf, pos, budget)
        configs.append(configs_item)
    value = AlterConfigsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        configs=configs,
    )
    return value, pos


def _write_alter_configs_resource_v0(out: bytearray, message: AlterConfigsResource) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)
    configs = message.configs
    write_array_length(out, len(configs))
    for configs_item in configs:
        _write_alterable_config_v0(out, configs_item)


def _read_alter_configs_resource_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterConfigsResource, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    configs: list[AlterableConfig] = []
    for _ in range(count):
        configs_item, pos = _read_alterable_config_v2(buf, pos, budget)
        configs.append(configs_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AlterConfigsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        configs=configs,
    )
    return value, pos


def _write_alter_configs_resource_v2(out: bytearray, message: AlterConfigsResource) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    configs = message.configs
    write_compact_array_length(out, len(configs))
    for configs_item in configs:
        _write_alterable_config_v2(out, configs_item)
    out.append(0)


def _read_alter_configs_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterConfigsRequest, int]:
    count, pos = read_array_length(buf, pos, 7)
    budget.take(count)
    resources: list[AlterConfigsResource] = []
    for _ in range(count):
        resources_item, pos = _read_alter_configs_resource_v0(buf, pos, budget)
        resources.append(resources_item)
    validate_only = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    return AlterConfigsRequest(resources=resources, validate_only=validate_only), pos


def _write_alter_configs_request_v0(out: bytearray, message: AlterConfigsRequest) -> None:
    resources = message.resources
    write_array_length(out, len(resources))
    for resources_item in resources:
        _write_alter_configs_resource_v0(out, resources_item)
    out += _PACKED_o.pack(message.validate_only)


def _read_alter_configs_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterConfigsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    resources: list[AlterConfigsResource] = []
    for _ in range(count):
        resources_item, pos = _read_alter_configs_resource_v2(buf, pos, budget)
        resources.append(resources_item)
    validate_only = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterConfigsRequest(resources=resources, validate_only=validate_only), pos


def _write_alter_configs_request_v2(out: bytearray, message: AlterConfigsRequest) -> None:
    resources = message.resources
    write_compact_array_length(out, len(resources))
    for resources_item in resources:
        _write_alter_configs_resource_v2(out, resources_item)
    out += _PACKED_o.pack(message.validate_only)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AlterConfigsRequest, int]], ...]] = (
    _read_alter_configs_request_v0,
    _read_alter_configs_request_v0,
    _read_alter_configs_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AlterConfigsRequest], None], ...]] = (
    _write_alter_configs_request_v0,
    _write_alter_configs_request_v0,
    _write_alter_configs_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AlterConfigsRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("AlterConfigsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterConfigsRequest is cut short") from error


def encode_request_into(out: bytearray, message: AlterConfigsRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("AlterConfigsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterConfigsRequest holds a value out of range: {error}") from error


def encode_request(message: AlterConfigsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_alter_configs_resource_response_v0(buf: Buffer, pos: int) -> tuple[AlterConfigsResourceResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    value = AlterConfigsResourceResponse(
        error_code=error_code,
        error_message=error_message,
        resource_type=resource_type,
        resource_name=resource_name,
    )
    return value, pos


def _write_alter_configs_resource_response_v0(out: bytearray, message: AlterConfigsResourceResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)


def _read_alter_configs_resource_response_v2(buf: Buffer, pos: int) -> tuple[AlterConfigsResourceResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterConfigsResourceResponse(
        error_code=error_code,
        error_message=error_message,
        resource_type=resource_type,
        resource_name=resource_name,
    )
    return value, pos


def _write_alter_configs_resource_response_v2(out: bytearray, message: AlterConfigsResourceResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    out.append(0)


def _read_alter_configs_response_v0(buf: Buffer, pos: int) -> tuple[AlterConfigsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 7)
    responses: list[AlterConfigsResourceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_alter_configs_resource_response_v0(buf, pos)
        responses.append(responses_item)
    return AlterConfigsResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_alter_configs_response_v0(out: bytearray, message: AlterConfigsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_alter_configs_resource_response_v0(out, responses_item)


def _read_alter_configs_response_v2(buf: Buffer, pos: int) -> tuple[AlterConfigsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 6)
    responses: list[AlterConfigsResourceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_alter_configs_resource_response_v2(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AlterConfigsResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_alter_configs_response_v2(out: bytearray, message: AlterConfigsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_alter_configs_resource_response_v2(out, responses_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AlterConfigsResponse, int]], ...]] = (
    _read_alter_configs_response_v0,
    _read_alter_configs_response_v0,
    _read_alter_configs_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AlterConfigsResponse], None], ...]] = (
    _write_alter_configs_response_v0,
    _write_alter_configs_response_v0,
    _write_alter_configs_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AlterConfigsResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("AlterConfigsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterConfigsResponse is cut short") from error


def encode_response_into(out: bytearray, message: AlterConfigsResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("AlterConfigsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterConfigsResponse holds a value out of range: {error}") from error


def encode_response(message: AlterConfigsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
