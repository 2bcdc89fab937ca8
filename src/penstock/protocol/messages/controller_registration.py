"""ControllerRegistrationRequest and ControllerRegistrationResponse.

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
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 70
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_Hh: Final = struct.Struct(">Hh")
_PACKED_hh: Final = struct.Struct(">hh")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iuo: Final = struct.Struct(">i16s?")


class Listener(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0


class Feature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0


class ControllerRegistrationRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    controller_id: int = 0
    incarnation_id: bytes = ZERO_UUID
    zk_migration_ready: bool = False
    listeners: list[Listener] = []
    features: list[Feature] = []


class ControllerRegistrationResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


def _read_listener_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[Listener, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port, security_protocol = _PACKED_Hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return Listener(name=name, host=host, port=port, security_protocol=security_protocol), pos


def _write_listener_v0(out: bytearray, message: Listener) -> None:
    write_compact_string(out, message.name)
    write_compact_string(out, message.host)
    out += _PACKED_Hh.pack(message.port, message.security_protocol)
    out.append(0)


def _read_feature_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[Feature, int]:
    name, pos = read_compact_string(buf, pos)
    min_supported_version, max_supported_version = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = Feature(
        name=name,
        min_supported_version=min_supported_version,
        max_supported_version=max_supported_version,
    )
    return value, pos


def _write_feature_v0(out: bytearray, message: Feature) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_hh.pack(message.min_supported_version, message.max_supported_version)
    out.append(0)


def _read_controller_registration_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ControllerRegistrationRequest, int]:
    controller_id, incarnation_id, zk_migration_ready = _PACKED_iuo.unpack_from(buf, pos)
    pos += 21
    count, pos = read_compact_array_length(buf, pos, 7)
    budget.take(count)
    listeners: list[Listener] = []
    for _ in range(count):
        listeners_item, pos = _read_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    count, pos = read_compact_array_length(buf, pos, 6)
    budget.take(count)
    features: list[Feature] = []
    for _ in range(count):
        features_item, pos = _read_feature_v0(buf, pos, budget)
        features.append(features_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ControllerRegistrationRequest(
        controller_id=controller_id,
        incarnation_id=incarnation_id,
        zk_migration_ready=zk_migration_ready,
        listeners=listeners,
        features=features,
    )
    return value, pos


def _write_controller_registration_request_v0(out: bytearray, message: ControllerRegistrationRequest) -> None:
    out += _PACKED_iuo.pack(message.controller_id, message.incarnation_id, message.zk_migration_ready)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_feature_v0(out, features_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ControllerRegistrationRequest, int]], ...]] = (
    _read_controller_registration_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ControllerRegistrationRequest], None], ...]] = (
    _write_controller_registration_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ControllerRegistrationRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("ControllerRegistrationRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ControllerRegistrationRequest is cut short") from error


def encode_request_into(out: bytearray, message: ControllerRegistrationRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ControllerRegistrationRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ControllerRegistrationRequest holds a value out of range: {error}") from error


def encode_request(message: ControllerRegistrationRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_controller_registration_response_v0(buf: Buffer, pos: int) -> tuple[ControllerRegistrationResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ControllerRegistrationResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_controller_registration_response_v0(out: bytearray, message: ControllerRegistrationResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ControllerRegistrationResponse, int]], ...]] = (
    _read_controller_registration_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ControllerRegistrationResponse], None], ...]] = (
    _write_controller_registration_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ControllerRegistrationResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("ControllerRegistrationResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ControllerRegistrationResponse is cut short") from error


def encode_response_into(out: bytearray, message: ControllerRegistrationResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ControllerRegistrationResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ControllerRegistrationResponse holds a value out of range: {error}") from error


def encode_response(message: ControllerRegistrationResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
