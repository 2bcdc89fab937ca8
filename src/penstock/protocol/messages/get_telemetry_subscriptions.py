"""GetTelemetrySubscriptionsRequest and GetTelemetrySubscriptionsResponse.

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
    read_compact_strings,
    read_int8s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_strings,
    write_int8s,
)

API_KEY: Final = 71
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_ihui: Final = struct.Struct(">ih16si")
_PACKED_iio: Final = struct.Struct(">ii?")
_PACKED_u: Final = struct.Struct(">16s")


class GetTelemetrySubscriptionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    client_instance_id: bytes = ZERO_UUID


class GetTelemetrySubscriptionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    client_instance_id: bytes = ZERO_UUID
    subscription_id: int = 0
    accepted_compression_types: list[int] = []
    push_interval_ms: int = 0
    telemetry_max_bytes: int = 0
    delta_temporality: bool = False
    requested_metrics: list[str] = []


def _read_get_telemetry_subscriptions_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[GetTelemetrySubscriptionsRequest, int]:
    client_instance_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return GetTelemetrySubscriptionsRequest(client_instance_id=client_instance_id), pos


def _write_get_telemetry_subscriptions_request_v0(out: bytearray, message: GetTelemetrySubscriptionsRequest) -> None:
    out += _PACKED_u.pack(message.client_instance_id)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[GetTelemetrySubscriptionsRequest, int]], ...]] = (
    _read_get_telemetry_subscriptions_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, GetTelemetrySubscriptionsRequest], None], ...]] = (
    _write_get_telemetry_subscriptions_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> GetTelemetrySubscriptionsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("GetTelemetrySubscriptionsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("GetTelemetrySubscriptionsRequest is cut short") from error


def encode_request_into(out: bytearray, message: GetTelemetrySubscriptionsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("GetTelemetrySubscriptionsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"GetTelemetrySubscriptionsRequest holds a value out of range: {error}") from error


def encode_request(message: GetTelemetrySubscriptionsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_get_telemetry_subscriptions_response_v0(buf: Buffer, pos: int) -> tuple[GetTelemetrySubscriptionsResponse, int]:
    throttle_time_ms, error_code, client_instance_id, subscription_id = _PACKED_ihui.unpack_from(buf, pos)
    pos += 26
    count, pos = read_compact_array_length(buf, pos, 1)
    accepted_compression_types, pos = read_int8s(buf, pos, count)
    push_interval_ms, telemetry_max_bytes, delta_temporality = _PACKED_iio.unpack_from(buf, pos)
    pos += 9
    count, pos = read_compact_array_length(buf, pos, 1)
    requested_metrics, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = GetTelemetrySubscriptionsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        client_instance_id=client_instance_id,
        subscription_id=subscription_id,
        accepted_compression_types=accepted_compression_types,
        push_interval_ms=push_interval_ms,
        telemetry_max_bytes=telemetry_max_bytes,
        delta_temporality=delta_temporality,
        requested_metrics=requested_metrics,
    )
    return value, pos


def _write_get_telemetry_subscriptions_response_v0(out: bytearray, message: GetTelemetrySubscriptionsResponse) -> None:
    out += _PACKED_ihui.pack(message.throttle_time_ms, message.error_code, message.client_instance_id, message.subscription_id)
    accepted_compression_types = message.accepted_compression_types
    write_compact_array_length(out, len(accepted_compression_types))
    write_int8s(out, accepted_compression_types)
    out += _PACKED_iio.pack(message.push_interval_ms, message.telemetry_max_bytes, message.delta_temporality)
    requested_metrics = message.requested_metrics
    write_compact_array_length(out, len(requested_metrics))
    write_compact_strings(out, requested_metrics)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[GetTelemetrySubscriptionsResponse, int]], ...]] = (
    _read_get_telemetry_subscriptions_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, GetTelemetrySubscriptionsResponse], None], ...]] = (
    _write_get_telemetry_subscriptions_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> GetTelemetrySubscriptionsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("GetTelemetrySubscriptionsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("GetTelemetrySubscriptionsResponse is cut short") from error


def encode_response_into(out: bytearray, message: GetTelemetrySubscriptionsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("GetTelemetrySubscriptionsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"GetTelemetrySubscriptionsResponse holds a value out of range: {error}") from error


def encode_response(message: GetTelemetrySubscriptionsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
