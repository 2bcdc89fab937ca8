"""HeartbeatRequest and HeartbeatResponse.

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
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_string,
    read_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_string,
    write_string,
)

API_KEY: Final = 12
VERSIONS: Final = range(0, 5)
FLEXIBLE_FROM: Final = 4

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")


class HeartbeatRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None


class HeartbeatResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0


def _read_heartbeat_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[HeartbeatRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    return HeartbeatRequest(group_id=group_id, generation_id=generation_id, member_id=member_id), pos


def _write_heartbeat_request_v0(out: bytearray, message: HeartbeatRequest) -> None:
    if message.group_instance_id is not None:
        raise unsupported_field("HeartbeatRequest.group_instance_id", 0, 2)
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id)
    write_string(out, message.member_id)


def _read_heartbeat_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[HeartbeatRequest, int]:
    group_id, pos = read_string(buf, pos)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_string(buf, pos)
    group_instance_id, pos = read_nullable_string(buf, pos)
    value = HeartbeatRequest(
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
    )
    return value, pos


def _write_heartbeat_request_v3(out: bytearray, message: HeartbeatRequest) -> None:
    write_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id)
    write_string(out, message.member_id)
    write_nullable_string(out, message.group_instance_id)


def _read_heartbeat_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[HeartbeatRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    member_id, pos = read_compact_string(buf, pos)
    group_instance_id, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = HeartbeatRequest(
        group_id=group_id,
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=group_instance_id,
    )
    return value, pos


def _write_heartbeat_request_v4(out: bytearray, message: HeartbeatRequest) -> None:
    write_compact_string(out, message.group_id)
    out += _PACKED_i.pack(message.generation_id)
    write_compact_string(out, message.member_id)
    write_compact_nullable_string(out, message.group_instance_id)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[HeartbeatRequest, int]], ...]] = (
    _read_heartbeat_request_v0,
    _read_heartbeat_request_v0,
    _read_heartbeat_request_v0,
    _read_heartbeat_request_v3,
    _read_heartbeat_request_v4,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, HeartbeatRequest], None], ...]] = (
    _write_heartbeat_request_v0,
    _write_heartbeat_request_v0,
    _write_heartbeat_request_v0,
    _write_heartbeat_request_v3,
    _write_heartbeat_request_v4,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> HeartbeatRequest:
    if not 0 <= version <= 4:
        raise unsupported_version("HeartbeatRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("HeartbeatRequest is cut short") from error


def encode_request_into(out: bytearray, message: HeartbeatRequest, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("HeartbeatRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"HeartbeatRequest holds a value out of range: {error}") from error


def encode_request(message: HeartbeatRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_heartbeat_response_v0(buf: Buffer, pos: int) -> tuple[HeartbeatResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    return HeartbeatResponse(error_code=error_code), pos


def _write_heartbeat_response_v0(out: bytearray, message: HeartbeatResponse) -> None:
    out += _PACKED_h.pack(message.error_code)


def _read_heartbeat_response_v1(buf: Buffer, pos: int) -> tuple[HeartbeatResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    return HeartbeatResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_heartbeat_response_v1(out: bytearray, message: HeartbeatResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)


def _read_heartbeat_response_v4(buf: Buffer, pos: int) -> tuple[HeartbeatResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return HeartbeatResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_heartbeat_response_v4(out: bytearray, message: HeartbeatResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[HeartbeatResponse, int]], ...]] = (
    _read_heartbeat_response_v0,
    _read_heartbeat_response_v1,
    _read_heartbeat_response_v1,
    _read_heartbeat_response_v1,
    _read_heartbeat_response_v4,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, HeartbeatResponse], None], ...]] = (
    _write_heartbeat_response_v0,
    _write_heartbeat_response_v1,
    _write_heartbeat_response_v1,
    _write_heartbeat_response_v1,
    _write_heartbeat_response_v4,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> HeartbeatResponse:
    if not 0 <= version <= 4:
        raise unsupported_version("HeartbeatResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("HeartbeatResponse is cut short") from error


def encode_response_into(out: bytearray, message: HeartbeatResponse, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("HeartbeatResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"HeartbeatResponse holds a value out of range: {error}") from error


def encode_response(message: HeartbeatResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
