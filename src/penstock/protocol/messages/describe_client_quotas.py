"""DescribeClientQuotasRequest and DescribeClientQuotasResponse.

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
    read_nullable_array_length,
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

API_KEY: Final = 48
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 1

_PACKED_b: Final = struct.Struct(">b")
_PACKED_d: Final = struct.Struct(">d")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_o: Final = struct.Struct(">?")


class ComponentData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity_type: str = ""
    match_type: int = 0
    match: str | None = ""


class DescribeClientQuotasRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    components: list[ComponentData] = []
    strict: bool = False


class EntityData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity_type: str = ""
    entity_name: str | None = ""


class ValueData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    value: float = 0.0


class EntryData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity: list[EntityData] = []
    values: list[ValueData] = []


class DescribeClientQuotasResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    entries: list[EntryData] | None = []


def _read_component_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ComponentData, int]:
    entity_type, pos = read_string(buf, pos)
    match_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    match, pos = read_nullable_string(buf, pos)
    return ComponentData(entity_type=entity_type, match_type=match_type, match=match), pos


def _write_component_data_v0(out: bytearray, message: ComponentData) -> None:
    write_string(out, message.entity_type)
    out += _PACKED_b.pack(message.match_type)
    write_nullable_string(out, message.match)


def _read_component_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ComponentData, int]:
    entity_type, pos = read_compact_string(buf, pos)
    match_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    match, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return ComponentData(entity_type=entity_type, match_type=match_type, match=match), pos


def _write_component_data_v1(out: bytearray, message: ComponentData) -> None:
    write_compact_string(out, message.entity_type)
    out += _PACKED_b.pack(message.match_type)
    write_compact_nullable_string(out, message.match)
    out.append(0)


def _read_describe_client_quotas_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeClientQuotasRequest, int]:
    count, pos = read_array_length(buf, pos, 5)
    budget.take(count)
    components: list[ComponentData] = []
    for _ in range(count):
        components_item, pos = _read_component_data_v0(buf, pos, budget)
        components.append(components_item)
    strict = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    return DescribeClientQuotasRequest(components=components, strict=strict), pos


def _write_describe_client_quotas_request_v0(out: bytearray, message: DescribeClientQuotasRequest) -> None:
    components = message.components
    write_array_length(out, len(components))
    for components_item in components:
        _write_component_data_v0(out, components_item)
    out += _PACKED_o.pack(message.strict)


def _read_describe_client_quotas_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeClientQuotasRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    components: list[ComponentData] = []
    for _ in range(count):
        components_item, pos = _read_component_data_v1(buf, pos, budget)
        components.append(components_item)
    strict = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeClientQuotasRequest(components=components, strict=strict), pos


def _write_describe_client_quotas_request_v1(out: bytearray, message: DescribeClientQuotasRequest) -> None:
    components = message.components
    write_compact_array_length(out, len(components))
    for components_item in components:
        _write_component_data_v1(out, components_item)
    out += _PACKED_o.pack(message.strict)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeClientQuotasRequest, int]], ...]] = (
    _read_describe_client_quotas_request_v0,
    _read_describe_client_quotas_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeClientQuotasRequest], None], ...]] = (
    _write_describe_client_quotas_request_v0,
    _write_describe_client_quotas_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeClientQuotasRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeClientQuotasRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeClientQuotasRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeClientQuotasRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeClientQuotasRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeClientQuotasRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeClientQuotasRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_entity_data_v0(buf: Buffer, pos: int) -> tuple[EntityData, int]:
    entity_type, pos = read_string(buf, pos)
    entity_name, pos = read_nullable_string(buf, pos)
    return EntityData(entity_type=entity_type, entity_name=entity_name), pos


def _write_entity_data_v0(out: bytearray, message: EntityData) -> None:
    write_string(out, message.entity_type)
    write_nullable_string(out, message.entity_name)


def _read_entity_data_v1(buf: Buffer, pos: int) -> tuple[EntityData, int]:
    entity_type, pos = read_compact_string(buf, pos)
    entity_name, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return EntityData(entity_type=entity_type, entity_name=entity_name), pos


def _write_entity_data_v1(out: bytearray, message: EntityData) -> None:
    write_compact_string(out, message.entity_type)
    write_compact_nullable_string(out, message.entity_name)
    out.append(0)


def _read_value_data_v0(buf: Buffer, pos: int) -> tuple[ValueData, int]:
    key, pos = read_string(buf, pos)
    value_ = _PACKED_d.unpack_from(buf, pos)[0]
    pos += 8
    return ValueData(key=key, value=value_), pos


def _write_value_data_v0(out: bytearray, message: ValueData) -> None:
    write_string(out, message.key)
    out += _PACKED_d.pack(message.value)


def _read_value_data_v1(buf: Buffer, pos: int) -> tuple[ValueData, int]:
    key, pos = read_compact_string(buf, pos)
    value_ = _PACKED_d.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ValueData(key=key, value=value_), pos


def _write_value_data_v1(out: bytearray, message: ValueData) -> None:
    write_compact_string(out, message.key)
    out += _PACKED_d.pack(message.value)
    out.append(0)


def _read_entry_data_v0(buf: Buffer, pos: int) -> tuple[EntryData, int]:
    count, pos = read_array_length(buf, pos, 4)
    entity: list[EntityData] = []
    for _ in range(count):
        entity_item, pos = _read_entity_data_v0(buf, pos)
        entity.append(entity_item)
    count, pos = read_array_length(buf, pos, 10)
    values: list[ValueData] = []
    for _ in range(count):
        values_item, pos = _read_value_data_v0(buf, pos)
        values.append(values_item)
    return EntryData(entity=entity, values=values), pos


def _write_entry_data_v0(out: bytearray, message: EntryData) -> None:
    entity = message.entity
    write_array_length(out, len(entity))
    for entity_item in entity:
        _write_entity_data_v0(out, entity_item)
    values = message.values
    write_array_length(out, len(values))
    for values_item in values:
        _write_value_data_v0(out, values_item)


def _read_entry_data_v1(buf: Buffer, pos: int) -> tuple[EntryData, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    entity: list[EntityData] = []
    for _ in range(count):
        entity_item, pos = _read_entity_data_v1(buf, pos)
        entity.append(entity_item)
    count, pos = read_compact_array_length(buf, pos, 10)
    values: list[ValueData] = []
    for _ in range(count):
        values_item, pos = _read_value_data_v1(buf, pos)
        values.append(values_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return EntryData(entity=entity, values=values), pos


def _write_entry_data_v1(out: bytearray, message: EntryData) -> None:
    entity = message.entity
    write_compact_array_length(out, len(entity))
    for entity_item in entity:
        _write_entity_data_v1(out, entity_item)
    values = message.values
    write_compact_array_length(out, len(values))
    for values_item in values:
        _write_value_data_v1(out, values_item)
    out.append(0)


def _read_describe_client_quotas_response_v0(buf: Buffer, pos: int) -> tuple[DescribeClientQuotasResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_nullable_string(buf, pos)
    count, pos = read_nullable_array_length(buf, pos, 8)
    entries: list[EntryData] | None = None
    if count >= 0:
        entries = []
        for _ in range(count):
            entries_item, pos = _read_entry_data_v0(buf, pos)
            entries.append(entries_item)
    value = DescribeClientQuotasResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        entries=entries,
    )
    return value, pos


def _write_describe_client_quotas_response_v0(out: bytearray, message: DescribeClientQuotasResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_nullable_string(out, message.error_message)
    entries = message.entries
    if entries is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(entries))
        for entries_item in entries:
            _write_entry_data_v0(out, entries_item)


def _read_describe_client_quotas_response_v1(buf: Buffer, pos: int) -> tuple[DescribeClientQuotasResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    entries: list[EntryData] | None = None
    if count >= 0:
        entries = []
        for _ in range(count):
            entries_item, pos = _read_entry_data_v1(buf, pos)
            entries.append(entries_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeClientQuotasResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        entries=entries,
    )
    return value, pos


def _write_describe_client_quotas_response_v1(out: bytearray, message: DescribeClientQuotasResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    entries = message.entries
    if entries is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(entries))
        for entries_item in entries:
            _write_entry_data_v1(out, entries_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeClientQuotasResponse, int]], ...]] = (
    _read_describe_client_quotas_response_v0,
    _read_describe_client_quotas_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeClientQuotasResponse], None], ...]] = (
    _write_describe_client_quotas_response_v0,
    _write_describe_client_quotas_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeClientQuotasResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeClientQuotasResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeClientQuotasResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeClientQuotasResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("DescribeClientQuotasResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeClientQuotasResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeClientQuotasResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
