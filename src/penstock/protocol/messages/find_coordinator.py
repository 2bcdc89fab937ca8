"""FindCoordinatorRequest and FindCoordinatorResponse.

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
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_nullable_string,
    read_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 10
VERSIONS: Final = range(0, 7)
FLEXIBLE_FROM: Final = 3

_PACKED_b: Final = struct.Struct(">b")
_PACKED_hi: Final = struct.Struct(">hi")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class FindCoordinatorRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    key_type: int = 0
    coordinator_keys: list[str] = []


class Coordinator(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    error_code: int = 0
    error_message: str | None = ""


class FindCoordinatorResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    coordinators: list[Coordinator] = []


def _read_find_coordinator_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[FindCoordinatorRequest, int]:
    key, pos = read_string(buf, pos)
    return FindCoordinatorRequest(key=key), pos


def _write_find_coordinator_request_v0(out: bytearray, message: FindCoordinatorRequest) -> None:
    if message.key_type != 0:
        raise unsupported_field("FindCoordinatorRequest.key_type", 0, 0)
    if message.coordinator_keys != []:
        raise unsupported_field("FindCoordinatorRequest.coordinator_keys", 0, 0)
    write_string(out, message.key)


def _read_find_coordinator_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[FindCoordinatorRequest, int]:
    key, pos = read_string(buf, pos)
    key_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    return FindCoordinatorRequest(key=key, key_type=key_type), pos


def _write_find_coordinator_request_v1(out: bytearray, message: FindCoordinatorRequest) -> None:
    if message.coordinator_keys != []:
        raise unsupported_field("FindCoordinatorRequest.coordinator_keys", 1, 2)
    write_string(out, message.key)
    out += _PACKED_b.pack(message.key_type)


def _read_find_coordinator_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[FindCoordinatorRequest, int]:
    key, pos = read_compact_string(buf, pos)
    key_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return FindCoordinatorRequest(key=key, key_type=key_type), pos


def _write_find_coordinator_request_v3(out: bytearray, message: FindCoordinatorRequest) -> None:
    if message.coordinator_keys != []:
        raise unsupported_field("FindCoordinatorRequest.coordinator_keys", 3, 3)
    write_compact_string(out, message.key)
    out += _PACKED_b.pack(message.key_type)
    out.append(0)


def _read_find_coordinator_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[FindCoordinatorRequest, int]:
    key_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    coordinator_keys, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return FindCoordinatorRequest(key_type=key_type, coordinator_keys=coordinator_keys), pos


def _write_find_coordinator_request_v4(out: bytearray, message: FindCoordinatorRequest) -> None:
    if message.key != "":
        raise unsupported_field("FindCoordinatorRequest.key", 4, 6)
    out += _PACKED_b.pack(message.key_type)
    coordinator_keys = message.coordinator_keys
    write_compact_array_length(out, len(coordinator_keys))
    write_compact_strings(out, coordinator_keys)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[FindCoordinatorRequest, int]], ...]] = (
    _read_find_coordinator_request_v0,
    _read_find_coordinator_request_v1,
    _read_find_coordinator_request_v1,
    _read_find_coordinator_request_v3,
    _read_find_coordinator_request_v4,
    _read_find_coordinator_request_v4,
    _read_find_coordinator_request_v4,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, FindCoordinatorRequest], None], ...]] = (
    _write_find_coordinator_request_v0,
    _write_find_coordinator_request_v1,
    _write_find_coordinator_request_v1,
    _write_find_coordinator_request_v3,
    _write_find_coordinator_request_v4,
    _write_find_coordinator_request_v4,
    _write_find_coordinator_request_v4,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> FindCoordinatorRequest:
    if not 0 <= version <= 6:
        raise unsupported_version("FindCoordinatorRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FindCoordinatorRequest is cut short") from error


def encode_request_into(out: bytearray, message: FindCoordinatorRequest, version: int) -> None:
    if not 0 <= version <= 6:
        raise unsupported_version("FindCoordinatorRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"FindCoordinatorRequest holds a value out of range: {error}") from error


def encode_request(message: FindCoordinatorRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_coordinator_v4(buf: Buffer, pos: int) -> tuple[Coordinator, int]:
    key, pos = read_compact_string(buf, pos)
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_compact_string(buf, pos)
    port, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = Coordinator(
        key=key,
        node_id=node_id,
        host=host,
        port=port,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_coordinator_v4(out: bytearray, message: Coordinator) -> None:
    write_compact_string(out, message.key)
    out += _PACKED_i.pack(message.node_id)
    write_compact_string(out, message.host)
    out += _PACKED_ih.pack(message.port, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_find_coordinator_response_v0(buf: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    error_code, node_id = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    host, pos = read_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return FindCoordinatorResponse(error_code=error_code, node_id=node_id, host=host, port=port), pos


def _write_find_coordinator_response_v0(out: bytearray, message: FindCoordinatorResponse) -> None:
    if message.coordinators != []:
        raise unsupported_field("FindCoordinatorResponse.coordinators", 0, 0)
    out += _PACKED_hi.pack(message.error_code, message.node_id)
    write_string(out, message.host)
    out += _PACKED_i.pack(message.port)


def _read_find_coordinator_response_v1(buf: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_nullable_string(buf, pos)
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = FindCoordinatorResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        node_id=node_id,
        host=host,
        port=port,
    )
    return value, pos


def _write_find_coordinator_response_v1(out: bytearray, message: FindCoordinatorResponse) -> None:
    if message.coordinators != []:
        raise unsupported_field("FindCoordinatorResponse.coordinators", 1, 2)
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_nullable_string(out, message.error_message)
    out += _PACKED_i.pack(message.node_id)
    write_string(out, message.host)
    out += _PACKED_i.pack(message.port)


def _read_find_coordinator_response_v3(buf: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = FindCoordinatorResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        node_id=node_id,
        host=host,
        port=port,
    )
    return value, pos


def _write_find_coordinator_response_v3(out: bytearray, message: FindCoordinatorResponse) -> None:
    if message.coordinators != []:
        raise unsupported_field("FindCoordinatorResponse.coordinators", 3, 3)
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_i.pack(message.node_id)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    out.append(0)


def _read_find_coordinator_response_v4(buf: Buffer, pos: int) -> tuple[FindCoordinatorResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 14)
    coordinators: list[Coordinator] = []
    for _ in range(count):
        coordinators_item, pos = _read_coordinator_v4(buf, pos)
        coordinators.append(coordinators_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return FindCoordinatorResponse(throttle_time_ms=throttle_time_ms, coordinators=coordinators), pos


def _write_find_coordinator_response_v4(out: bytearray, message: FindCoordinatorResponse) -> None:
    if message.error_code != 0:
        raise unsupported_field("FindCoordinatorResponse.error_code", 4, 6)
    if message.node_id != 0:
        raise unsupported_field("FindCoordinatorResponse.node_id", 4, 6)
    if message.host != "":
        raise unsupported_field("FindCoordinatorResponse.host", 4, 6)
    if message.port != 0:
        raise unsupported_field("FindCoordinatorResponse.port", 4, 6)
    out += _PACKED_i.pack(message.throttle_time_ms)
    coordinators = message.coordinators
    write_compact_array_length(out, len(coordinators))
    for coordinators_item in coordinators:
        _write_coordinator_v4(out, coordinators_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[FindCoordinatorResponse, int]], ...]] = (
    _read_find_coordinator_response_v0,
    _read_find_coordinator_response_v1,
    _read_find_coordinator_response_v1,
    _read_find_coordinator_response_v3,
    _read_find_coordinator_response_v4,
    _read_find_coordinator_response_v4,
    _read_find_coordinator_response_v4,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, FindCoordinatorResponse], None], ...]] = (
    _write_find_coordinator_response_v0,
    _write_find_coordinator_response_v1,
    _write_find_coordinator_response_v1,
    _write_find_coordinator_response_v3,
    _write_find_coordinator_response_v4,
    _write_find_coordinator_response_v4,
    _write_find_coordinator_response_v4,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> FindCoordinatorResponse:
    if not 0 <= version <= 6:
        raise unsupported_version("FindCoordinatorResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("FindCoordinatorResponse is cut short") from error


def encode_response_into(out: bytearray, message: FindCoordinatorResponse, version: int) -> None:
    if not 0 <= version <= 6:
        raise unsupported_version("FindCoordinatorResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"FindCoordinatorResponse holds a value out of range: {error}") from error


def encode_response(message: FindCoordinatorResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
