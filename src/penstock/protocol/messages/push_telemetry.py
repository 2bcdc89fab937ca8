"""PushTelemetryRequest and PushTelemetryResponse.

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
    read_compact_bytes,
    skip_tagged_fields,
    unsupported_version,
    write_compact_bytes,
)

API_KEY: Final = 72
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_uiob: Final = struct.Struct(">16si?b")


class PushTelemetryRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    client_instance_id: bytes = ZERO_UUID
    subscription_id: int = 0
    terminating: bool = False
    compression_type: int = 0
    metrics: bytes = b""


class PushTelemetryResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0


def _read_push_telemetry_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[PushTelemetryRequest, int]:
    client_instance_id, subscription_id, terminating, compression_type = _PACKED_uiob.unpack_from(buf, pos)
    pos += 22
    metrics, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = PushTelemetryRequest(
        client_instance_id=client_instance_id,
        subscription_id=subscription_id,
        terminating=terminating,
        compression_type=compression_type,
        metrics=metrics,
    )
    return value, pos


def _write_push_telemetry_request_v0(out: bytearray, message: PushTelemetryRequest) -> None:
    out += _PACKED_uiob.pack(message.client_instance_id, message.subscription_id, message.terminating, message.compression_type)
    write_compact_bytes(out, message.metrics)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[PushTelemetryRequest, int]], ...]] = (
    _read_push_telemetry_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, PushTelemetryRequest], None], ...]] = (
    _write_push_telemetry_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> PushTelemetryRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("PushTelemetryRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("PushTelemetryRequest is cut short") from error


def encode_request_into(out: bytearray, message: PushTelemetryRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("PushTelemetryRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"PushTelemetryRequest holds a value out of range: {error}") from error


def encode_request(message: PushTelemetryRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_push_telemetry_response_v0(buf: Buffer, pos: int) -> tuple[PushTelemetryResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return PushTelemetryResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_push_telemetry_response_v0(out: bytearray, message: PushTelemetryResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[PushTelemetryResponse, int]], ...]] = (
    _read_push_telemetry_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, PushTelemetryResponse], None], ...]] = (
    _write_push_telemetry_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> PushTelemetryResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("PushTelemetryResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("PushTelemetryResponse is cut short") from error


def encode_response_into(out: bytearray, message: PushTelemetryResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("PushTelemetryResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"PushTelemetryResponse holds a value out of range: {error}") from error


def encode_response(message: PushTelemetryResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
