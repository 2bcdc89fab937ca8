"""AlterClientQuotasRequest and AlterClientQuotasResponse.

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

API_KEY: Final = 49
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 1

_PACKED_do: Final = struct.Struct(">d?")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_o: Final = struct.Struct(">?")


class RequestEntityData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity_type: str = ""
    entity_name: str | None = ""


class OpData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    value: float = 0.0
    remove: bool = False


class RequestEntryData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity: list[RequestEntityData] = []
    ops: list[OpData] = []


class AlterClientQuotasRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entries: list[RequestEntryData] = []
    validate_only: bool = False


class ResponseEntityData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    entity_type: str = ""
    entity_name: str | None = ""


class ResponseEntryData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    error_message: str | None = ""
    entity: list[ResponseEntityData] = []


class AlterClientQuotasResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    entries: list[ResponseEntryData] = []


def _read_request_entity_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestEntityData, int]:
    entity_type, pos = read_string(buf, pos)
    entity_name, pos = read_nullable_string(buf, pos)
    return RequestEntityData(entity_type=entity_type, entity_name=entity_name), pos


def _write_request_entity_data_v0(out: bytearray, message: RequestEntityData) -> None:
    write_string(out, message.entity_type)
    write_nullable_string(out, message.entity_name)


def _read_request_entity_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestEntityData, int]:
    entity_type, pos = read_compact_string(buf, pos)
    entity_name, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestEntityData(entity_type=entity_type, entity_name=entity_name), pos


def _write_request_entity_data_v1(out: bytearray, message: RequestEntityData) -> None:
    write_compact_string(out, message.entity_type)
    write_compact_nullable_string(out, message.entity_name)
    out.append(0)


def _read_op_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[OpData, int]:
    key, pos = read_string(buf, pos)
    value_, remove = _PACKED_do.unpack_from(buf, pos)
    pos += 9
    return OpData(key=key, value=value_, remove=remove), pos


def _write_op_data_v0(out: bytearray, message: OpData) -> None:
    write_string(out, message.key)
    out += _PACKED_do.pack(message.value, message.remove)


def _read_op_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[OpData, int]:
    key, pos = read_compact_string(buf, pos)
    value_, remove = _PACKED_do.unpack_from(buf, pos)
    pos += 9
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return OpData(key=key, value=value_, remove=remove), pos


def _write_op_data_v1(out: bytearray, message: OpData) -> None:
    write_compact_string(out, message.key)
    out += _PACKED_do.pack(message.value, message.remove)
    out.append(0)


def _read_request_entry_data_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestEntryData, int]:
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    entity: list[RequestEntityData] = []
    for _ in range(count):
        entity_item, pos = _read_request_entity_data_v0(buf, pos, budget)
        entity.append(entity_item)
    count, pos = read_array_length(buf, pos, 11)
    budget.take(count)
    ops: list[OpData] = []
    for _ in range(count):
        ops_item, pos = _read_op_data_v0(buf, pos, budget)
        ops.append(ops_item)
    return RequestEntryData(entity=entity, ops=ops), pos


def _write_request_entry_data_v0(out: bytearray, message: RequestEntryData) -> None:
    entity = message.entity
    write_array_length(out, len(entity))
    for entity_item in entity:
        _write_request_entity_data_v0(out, entity_item)
    ops = message.ops
    write_array_length(out, len(ops))
    for ops_item in ops:
        _write_op_data_v0(out, ops_item)


def _read_request_entry_data_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestEntryData, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    entity: list[RequestEntityData] = []
    for _ in range(count):
        entity_item, pos = _read_request_entity_data_v1(buf, pos, budget)
        entity.append(entity_item)
    count, pos = read_compact_array_length(buf, pos, 11)
    budget.take(count)
    ops: list[OpData] = []
    for _ in range(count):
        ops_item, pos = _read_op_data_v1(buf, pos, budget)
        ops.append(ops_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestEntryData(entity=entity, ops=ops), pos


def _write_request_entry_data_v1(out: bytearray, message: RequestEntryData) -> None:
    entity = message.entity
    write_compact_array_length(out, len(entity))
    for entity_item in entity:
        _write_request_entity_data_v1(out, entity_item)
    ops = message.ops
    write_compact_array_length(out, len(ops))
    for ops_item in ops:
        _write_op_data_v1(out, ops_item)
    out.append(0)


def _read_alter_client_quotas_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterClientQuotasRequest, int]:
    count, pos = read_array_length(buf, pos, 8)
    budget.take(count)
    entries: list[RequestEntryData] = []
    for _ in range(count):
        entries_item, pos = _read_request_entry_data_v0(buf, pos, budget)
        entries.append(entries_item)
    validate_only = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    return AlterClientQuotasRequest(entries=entries, validate_only=validate_only), pos


def _write_alter_client_quotas_request_v0(out: bytearray, message: AlterClientQuotasRequest) -> None:
    entries = message.entries
    write_array_length(out, len(entries))
    for entries_item in entries:
        _write_request_entry_data_v0(out, entries_item)
    out += _PACKED_o.pack(message.validate_only)


def _read_alter_client_quotas_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterClientQuotasRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    entries: list[RequestEntryData] = []
    for _ in range(count):
        entries_item, pos = _read_request_entry_data_v1(buf, pos, budget)
        entries.append(entries_item)
    validate_only = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterClientQuotasRequest(entries=entries, validate_only=validate_only), pos


def _write_alter_client_quotas_request_v1(out: bytearray, message: AlterClientQuotasRequest) -> None:
    entries = message.entries
    write_compact_array_length(out, len(entries))
    for entries_item in entries:
        _write_request_entry_data_v1(out, entries_item)
    out += _PACKED_o.pack(message.validate_only)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AlterClientQuotasRequest, int]], ...]] = (
    _read_alter_client_quotas_request_v0,
    _read_alter_client_quotas_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AlterClientQuotasRequest], None], ...]] = (
    _write_alter_client_quotas_request_v0,
    _write_alter_client_quotas_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AlterClientQuotasRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterClientQuotasRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterClientQuotasRequest is cut short") from error


def encode_request_into(out: bytearray, message: AlterClientQuotasRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterClientQuotasRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterClientQuotasRequest holds a value out of range: {error}") from error


def encode_request(message: AlterClientQuotasRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_response_entity_data_v0(buf: Buffer, pos: int) -> tuple[ResponseEntityData, int]:
    entity_type, pos = read_string(buf, pos)
    entity_name, pos = read_nullable_string(buf, pos)
    return ResponseEntityData(entity_type=entity_type, entity_name=entity_name), pos


def _write_response_entity_data_v0(out: bytearray, message: ResponseEntityData) -> None:
    write_string(out, message.entity_type)
    write_nullable_string(out, message.entity_name)


def _read_response_entity_data_v1(buf: Buffer, pos: int) -> tuple[ResponseEntityData, int]:
    entity_type, pos = read_compact_string(buf, pos)
    entity_name, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseEntityData(entity_type=entity_type, entity_name=entity_name), pos


def _write_response_entity_data_v1(out: bytearray, message: ResponseEntityData) -> None:
    write_compact_string(out, message.entity_type)
    write_compact_nullable_string(out, message.entity_name)
    out.append(0)


def _read_response_entry_data_v0(buf: Buffer, pos: int) -> tuple[ResponseEntryData, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    entity: list[ResponseEntityData] = []
    for _ in range(count):
        entity_item, pos = _read_response_entity_data_v0(buf, pos)
        entity.append(entity_item)
    return ResponseEntryData(error_code=error_code, error_message=error_message, entity=entity), pos


def _write_response_entry_data_v0(out: bytearray, message: ResponseEntryData) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)
    entity = message.entity
    write_array_length(out, len(entity))
    for entity_item in entity:
        _write_response_entity_data_v0(out, entity_item)


def _read_response_entry_data_v1(buf: Buffer, pos: int) -> tuple[ResponseEntryData, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    entity: list[ResponseEntityData] = []
    for _ in range(count):
        entity_item, pos = _read_response_entity_data_v1(buf, pos)
        entity.append(entity_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseEntryData(error_code=error_code, error_message=error_message, entity=entity), pos


def _write_response_entry_data_v1(out: bytearray, message: ResponseEntryData) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    entity = message.entity
    write_compact_array_length(out, len(entity))
    for entity_item in entity:
        _write_response_entity_data_v1(out, entity_item)
    out.append(0)


def _read_alter_client_quotas_response_v0(buf: Buffer, pos: int) -> tuple[AlterClientQuotasResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 8)
    entries: list[ResponseEntryData] = []
    for _ in range(count):
        entries_item, pos = _read_response_entry_data_v0(buf, pos)
        entries.append(entries_item)
    return AlterClientQuotasResponse(throttle_time_ms=throttle_time_ms, entries=entries), pos


def _write_alter_client_quotas_response_v0(out: bytearray, message: AlterClientQuotasResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    entries = message.entries
    write_array_length(out, len(entries))
    for entries_item in entries:
        _write_response_entry_data_v0(out, entries_item)


def _read_alter_client_quotas_response_v1(buf: Buffer, pos: int) -> tuple[AlterClientQuotasResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    entries: list[ResponseEntryData] = []
    for _ in range(count):
        entries_item, pos = _read_response_entry_data_v1(buf, pos)
        entries.append(entries_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AlterClientQuotasResponse(throttle_time_ms=throttle_time_ms, entries=entries), pos


def _write_alter_client_quotas_response_v1(out: bytearray, message: AlterClientQuotasResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    entries = message.entries
    write_compact_array_length(out, len(entries))
    for entries_item in entries:
        _write_response_entry_data_v1(out, entries_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AlterClientQuotasResponse, int]], ...]] = (
    _read_alter_client_quotas_response_v0,
    _read_alter_client_quotas_response_v1,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AlterClientQuotasResponse], None], ...]] = (
    _write_alter_client_quotas_response_v0,
    _write_alter_client_quotas_response_v1,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AlterClientQuotasResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterClientQuotasResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterClientQuotasResponse is cut short") from error


def encode_response_into(out: bytearray, message: AlterClientQuotasResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("AlterClientQuotasResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterClientQuotasResponse holds a value out of range: {error}") from error


def encode_response(message: AlterClientQuotasResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
