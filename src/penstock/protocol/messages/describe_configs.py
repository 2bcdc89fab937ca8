"""DescribeConfigsRequest and DescribeConfigsResponse.

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
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_nullable_array_length,
    read_nullable_string,
    read_string,
    read_strings,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_nullable_string,
    write_string,
    write_strings,
)

API_KEY: Final = 32
VERSIONS: Final = range(1, 5)
FLEXIBLE_FROM: Final = 4

_PACKED_b: Final = struct.Struct(">b")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_obo: Final = struct.Struct(">?b?")
_PACKED_oo: Final = struct.Struct(">??")


class DescribeConfigsResource(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resource_type: int = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = []


class DescribeConfigsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    resources: list[DescribeConfigsResource] = []
    include_synonyms: bool = False
    include_documentation: bool = False


class DescribeConfigsSynonym(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    value: str | None = ""
    source: int = 0


class DescribeConfigsResourceResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = []
    config_type: int = 0
    documentation: str | None = ""


class DescribeConfigsResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    resource_type: int = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = []


class DescribeConfigsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    results: list[DescribeConfigsResult] = []


def _read_describe_configs_resource_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeConfigsResource, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    count, pos = read_nullable_array_length(buf, pos, 2)
    budget.take(count)
    configuration_keys: list[str] | None = None
    if count >= 0:
        configuration_keys, pos = read_strings(buf, pos, count)
    value = DescribeConfigsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        configuration_keys=configuration_keys,
    )
    return value, pos


def _write_describe_configs_resource_v1(out: bytearray, message: DescribeConfigsResource) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)
    configuration_keys = message.configuration_keys
    if configuration_keys is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(configuration_keys))
        write_strings(out, configuration_keys)


def _read_describe_configs_resource_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeConfigsResource, int]:
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 1)
    budget.take(count)
    configuration_keys: list[str] | None = None
    if count >= 0:
        configuration_keys, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeConfigsResource(
        resource_type=resource_type,
        resource_name=resource_name,
        configuration_keys=configuration_keys,
    )
    return value, pos


def _write_describe_configs_resource_v4(out: bytearray, message: DescribeConfigsResource) -> None:
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    configuration_keys = message.configuration_keys
    if configuration_keys is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(configuration_keys))
        write_compact_strings(out, configuration_keys)
    out.append(0)


def _read_describe_configs_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeConfigsRequest, int]:
    count, pos = read_array_length(buf, pos, 7)
    budget.take(count)
    resources: list[DescribeConfigsResource] = []
    for _ in range(count):
        resources_item, pos = _read_describe_configs_resource_v1(buf, pos, budget)
        resources.append(resources_item)
    include_synonyms = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    return DescribeConfigsRequest(resources=resources, include_synonyms=include_synonyms), pos


def _write_describe_configs_request_v1(out: bytearray, message: DescribeConfigsRequest) -> None:
    if message.include_documentation:
        raise unsupported_field("DescribeConfigsRequest.include_documentation", 1, 2)
    resources = message.resources
    write_array_length(out, len(resources))
    for resources_item in resources:
        _write_describe_configs_resource_v1(out, resources_item)
    out += _PACKED_o.pack(message.include_synonyms)


def _read_describe_configs_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeConfigsRequest, int]:
    count, pos = read_array_length(buf, pos, 7)
    budget.take(count)
    resources: list[DescribeConfigsResource] = []
    for _ in range(count):
        resources_item, pos = _read_describe_configs_resource_v1(buf, pos, budget)
        resources.append(resources_item)
    include_synonyms, include_documentation = _PACKED_oo.unpack_from(buf, pos)
    pos += 2
    value = DescribeConfigsRequest(
        resources=resources,
        include_synonyms=include_synonyms,
        include_documentation=include_documentation,
    )
    return value, pos


def _write_describe_configs_request_v3(out: bytearray, message: DescribeConfigsRequest) -> None:
    resources = message.resources
    write_array_length(out, len(resources))
    for resources_item in resources:
        _write_describe_configs_resource_v1(out, resources_item)
    out += _PACKED_oo.pack(message.include_synonyms, message.include_documentation)


def _read_describe_configs_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeConfigsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    resources: list[DescribeConfigsResource] = []
    for _ in range(count):
        resources_item, pos = _read_describe_configs_resource_v4(buf, pos, budget)
        resources.append(resources_item)
    include_synonyms, include_documentation = _PACKED_oo.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeConfigsRequest(
        resources=resources,
        include_synonyms=include_synonyms,
        include_documentation=include_documentation,
    )
    return value, pos


def _write_describe_configs_request_v4(out: bytearray, message: DescribeConfigsRequest) -> None:
    resources = message.resources
    write_compact_array_length(out, len(resources))
    for resources_item in resources:
        _write_describe_configs_resource_v4(out, resources_item)
    out += _PACKED_oo.pack(message.include_synonyms, message.include_documentation)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeConfigsRequest, int]], ...]] = (
    _read_describe_configs_request_v1,
    _read_describe_configs_request_v1,
    _read_describe_configs_request_v3,
    _read_describe_configs_request_v4,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeConfigsRequest], None], ...]] = (
    _write_describe_configs_request_v1,
    _write_describe_configs_request_v1,
    _write_describe_configs_request_v3,
    _write_describe_configs_request_v4,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeConfigsRequest:
    if not 1 <= version <= 4:
        raise unsupported_version("DescribeConfigsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeConfigsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeConfigsRequest, version: int) -> None:
    if not 1 <= version <= 4:
        raise unsupported_version("DescribeConfigsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeConfigsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeConfigsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_describe_configs_synonym_v1(buf: Buffer, pos: int) -> tuple[DescribeConfigsSynonym, int]:
    name, pos = read_string(buf, pos)
    value_, pos = read_nullable_string(buf, pos)
    source = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    return DescribeConfigsSynonym(name=name, value=value_, source=source), pos


def _write_describe_configs_synonym_v1(out: bytearray, message: DescribeConfigsSynonym) -> None:
    write_string(out, message.name)
    write_nullable_string(out, message.value)
    out += _PACKED_b.pack(message.source)


def _read_describe_configs_synonym_v4(buf: Buffer, pos: int) -> tuple[DescribeConfigsSynonym, int]:
    name, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_nullable_string(buf, pos)
    source = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeConfigsSynonym(name=name, value=value_, source=source), pos


def _write_describe_configs_synonym_v4(out: bytearray, message: DescribeConfigsSynonym) -> None:
    write_compact_string(out, message.name)
    write_compact_nullable_string(out, message.value)
    out += _PACKED_b.pack(message.source)
    out.append(0)


def _read_describe_configs_resource_result_v1(buf: Buffer, pos: int) -> tuple[DescribeConfigsResourceResult, int]:
    name, pos = read_string(buf, pos)
    value_, pos = read_nullable_string(buf, pos)
    read_only, config_source, is_sensitive = _PACKED_obo.unpack_from(buf, pos)
    pos += 3
    count, pos = read_array_length(buf, pos, 5)
    synonyms: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        synonyms_item, pos = _read_describe_configs_synonym_v1(buf, pos)
        synonyms.append(synonyms_item)
    value = DescribeConfigsResourceResult(
        name=name,
        value=value_,
        read_only=read_only,
        config_source=config_source,
        is_sensitive=is_sensitive,
        synonyms=synonyms,
    )
    return value, pos


def _write_describe_configs_resource_result_v1(out: bytearray, message: DescribeConfigsResourceResult) -> None:
    write_string(out, message.name)
    write_nullable_string(out, message.value)
    out += _PACKED_obo.pack(message.read_only, message.config_source, message.is_sensitive)
    synonyms = message.synonyms
    write_array_length(out, len(synonyms))
    for synonyms_item in synonyms:
        _write_describe_configs_synonym_v1(out, synonyms_item)


def _read_describe_configs_resource_result_v3(buf: Buffer, pos: int) -> tuple[DescribeConfigsResourceResult, int]:
    name, pos = read_string(buf, pos)
    value_, pos = read_nullable_string(buf, pos)
    read_only, config_source, is_sensitive = _PACKED_obo.unpack_from(buf, pos)
    pos += 3
    count, pos = read_array_length(buf, pos, 5)
    synonyms: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        synonyms_item, pos = _read_describe_configs_synonym_v1(buf, pos)
        synonyms.append(synonyms_item)
    config_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    documentation, pos = read_nullable_string(buf, pos)
    value = DescribeConfigsResourceResult(
        name=name,
        value=value_,
        read_only=read_only,
        config_source=config_source,
        is_sensitive=is_sensitive,
        synonyms=synonyms,
        config_type=config_type,
        documentation=documentation,
    )
    return value, pos


def _write_describe_configs_resource_result_v3(out: bytearray, message: DescribeConfigsResourceResult) -> None:
    write_string(out, message.name)
    write_nullable_string(out, message.value)
    out += _PACKED_obo.pack(message.read_only, message.config_source, message.is_sensitive)
    synonyms = message.synonyms
    write_array_length(out, len(synonyms))
    for synonyms_item in synonyms:
        _write_describe_configs_synonym_v1(out, synonyms_item)
    out += _PACKED_b.pack(message.config_type)
    write_nullable_string(out, message.documentation)


def _read_describe_configs_resource_result_v4(buf: Buffer, pos: int) -> tuple[DescribeConfigsResourceResult, int]:
    name, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_nullable_string(buf, pos)
    read_only, config_source, is_sensitive = _PACKED_obo.unpack_from(buf, pos)
    pos += 3
    count, pos = read_compact_array_length(buf, pos, 4)
    synonyms: list[DescribeConfigsSynonym] = []
    for _ in range(count):
        synonyms_item, pos = _read_describe_configs_synonym_v4(buf, pos)
        synonyms.append(synonyms_item)
    config_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    documentation, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeConfigsResourceResult(
        name=name,
        value=value_,
        read_only=read_only,
        config_source=config_source,
        is_sensitive=is_sensitive,
        synonyms=synonyms,
        config_type=config_type,
        documentation=documentation,
    )
    return value, pos


def _write_describe_configs_resource_result_v4(out: bytearray, message: DescribeConfigsResourceResult) -> None:
    write_compact_string(out, message.name)
    write_compact_nullable_string(out, message.value)
    out += _PACKED_obo.pack(message.read_only, message.config_source, message.is_sensitive)
    synonyms = message.synonyms
    write_compact_array_length(out, len(synonyms))
    for synonyms_item in synonyms:
        _write_describe_configs_synonym_v4(out, synonyms_item)
    out += _PACKED_b.pack(message.config_type)
    write_compact_nullable_string(out, message.documentation)
    out.append(0)


def _read_describe_configs_result_v1(buf: Buffer, pos: int) -> tuple[DescribeConfigsResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 11)
    configs: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        configs_item, pos = _read_describe_configs_resource_result_v1(buf, pos)
        configs.append(configs_item)
    value = DescribeConfigsResult(
        error_code=error_code,
        error_message=error_message,
        resource_type=resource_type,
        resource_name=resource_name,
        configs=configs,
    )
    return value, pos


def _write_describe_configs_result_v1(out: bytearray, message: DescribeConfigsResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)
    configs = message.configs
    write_array_length(out, len(configs))
    for configs_item in configs:
        _write_describe_configs_resource_result_v1(out, configs_item)


def _read_describe_configs_result_v3(buf: Buffer, pos: int) -> tuple[DescribeConfigsResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 14)
    configs: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        configs_item, pos = _read_describe_configs_resource_result_v3(buf, pos)
        configs.append(configs_item)
    value = DescribeConfigsResult(
        error_code=error_code,
        error_message=error_message,
        resource_type=resource_type,
        resource_name=resource_name,
        configs=configs,
    )
    return value, pos


def _write_describe_configs_result_v3(out: bytearray, message: DescribeConfigsResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.resource_type)
    write_string(out, message.resource_name)
    configs = message.configs
    write_array_length(out, len(configs))
    for configs_item in configs:
        _write_describe_configs_resource_result_v3(out, configs_item)


def _read_describe_configs_result_v4(buf: Buffer, pos: int) -> tuple[DescribeConfigsResult, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    resource_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    resource_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 9)
    configs: list[DescribeConfigsResourceResult] = []
    for _ in range(count):
        configs_item, pos = _read_describe_configs_resource_result_v4(buf, pos)
        configs.append(configs_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeConfigsResult(
        error_code=error_code,
        error_message=error_message,
        resource_type=resource_type,
        resource_name=resource_name,
        configs=configs,
    )
    return value, pos


def _write_describe_configs_result_v4(out: bytearray, message: DescribeConfigsResult) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.resource_type)
    write_compact_string(out, message.resource_name)
    configs = message.configs
    write_compact_array_length(out, len(configs))
    for configs_item in configs:
        _write_describe_configs_resource_result_v4(out, configs_item)
    out.append(0)


def _read_describe_configs_response_v1(buf: Buffer, pos: int) -> tuple[DescribeConfigsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 11)
    results: list[DescribeConfigsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_configs_result_v1(buf, pos)
        results.append(results_item)
    return DescribeConfigsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_describe_configs_response_v1(out: bytearray, message: DescribeConfigsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_array_length(out, len(results))
    for results_item in results:
        _write_describe_configs_result_v1(out, results_item)


def _read_describe_configs_response_v3(buf: Buffer, pos: int) -> tuple[DescribeConfigsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 11)
    results: list[DescribeConfigsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_configs_result_v3(buf, pos)
        results.append(results_item)
    return DescribeConfigsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_describe_configs_response_v3(out: bytearray, message: DescribeConfigsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_array_length(out, len(results))
    for results_item in results:
        _write_describe_configs_result_v3(out, results_item)


def _read_describe_configs_response_v4(buf: Buffer, pos: int) -> tuple[DescribeConfigsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 7)
    results: list[DescribeConfigsResult] = []
    for _ in range(count):
        results_item, pos = _read_describe_configs_result_v4(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeConfigsResponse(throttle_time_ms=throttle_time_ms, results=results), pos


def _write_describe_configs_response_v4(out: bytearray, message: DescribeConfigsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_describe_configs_result_v4(out, results_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeConfigsResponse, int]], ...]] = (
    _read_describe_configs_response_v1,
    _read_describe_configs_response_v1,
    _read_describe_configs_response_v3,
    _read_describe_configs_response_v4,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeConfigsResponse], None], ...]] = (
    _write_describe_configs_response_v1,
    _write_describe_configs_response_v1,
    _write_describe_configs_response_v3,
    _write_describe_configs_response_v4,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeConfigsResponse:
    if not 1 <= version <= 4:
        raise unsupported_version("DescribeConfigsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeConfigsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeConfigsResponse, version: int) -> None:
    if not 1 <= version <= 4:
        raise unsupported_version("DescribeConfigsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeConfigsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeConfigsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
