"""UpdateFeaturesRequest and UpdateFeaturesResponse.

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
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 57
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_h: Final = struct.Struct(">h")
_PACKED_hb: Final = struct.Struct(">hb")
_PACKED_ho: Final = struct.Struct(">h?")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_o: Final = struct.Struct(">?")


class FeatureUpdateKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    feature: str = ""
    max_version_level: int = 0
    allow_downgrade: bool = False
    upgrade_type: int = 1


class UpdateFeaturesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    timeout_ms: int = 60000
    feature_updates: list[FeatureUpdateKey] = []
    validate_only: bool = False


class UpdatableFeatureResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    feature: str = ""
    error_code: int = 0
    error_message: str | None = ""


class UpdateFeaturesResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    results: list[UpdatableFeatureResult] = []


def _read_feature_update_key_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[FeatureUpdateKey, int]:
    feature, pos = read_compact_string(buf, pos)
    max_version_level, allow_downgrade = _PACKED_ho.unpack_from(buf, pos)
    pos += 3
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = FeatureUpdateKey(
        feature=feature,
        max_version_level=max_version_level,
        allow_downgrade=allow_downgrade,
    )
    return value, pos


def _write_feature_update_key_v0(out: bytearray, message: FeatureUpdateKey) -> None:
    if message.upgrade_type != 1:
        raise unsupported_field("FeatureUpdateKey.upgrade_type", 0, 0)
    write_compact_string(out, message.feature)
    out += _PACKED_ho.pack(message.max_version_level, message.allow_downgrade)
    out.append(0)


def _read_feature_update_key_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[FeatureUpdateKey, int]:
    feature, pos = read_compact_string(buf, pos)
    max_version_level, upgrade_type = _PACKED_hb.unpack_from(buf, pos)
    pos += 3
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = FeatureUpdateKey(
        feature=feature,
        max_version_level=max_version_level,
        upgrade_type=upgrade_type,
    )
    return value, pos


def _write_feature_update_key_v1(out: bytearray, message: FeatureUpdateKey) -> None:
    if message.allow_downgrade:
        raise unsupported_field("FeatureUpdateKey.allow_downgrade", 1, 2)
    write_compact_string(out, message.feature)
    out += _PACKED_hb.pack(message.max_version_level, message.upgrade_type)
    out.append(0)


def _read_update_features_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[UpdateFeaturesRequest, int]:
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    feature_updates: list[FeatureUpdateKey] = []
    for _ in range(count):
        feature_updates_item, pos = _read_feature_update_key_v0(buf, pos, budget)
        feature_updates.append(feature_updates_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=feature_updates), pos


def _write_update_features_request_v0(out: bytearray, message: UpdateFeaturesRequest) -> None:
    if message.validate_only:
        raise unsupported_field("UpdateFeaturesRequest.validate_only", 0, 0)
    out += _PACKED_i.pack(message.timeout_ms)
    feature_updates = message.feature_updates
    write_compact_array_length(out, len(feature_updates))
    for feature_updates_item in feature_updates:
        _write_feature_update_key_v0(out, feature_updates_item)
    out.append(0)


def _read_update_features_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[UpdateFeaturesRequest, int]:
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    feature_updates: list[FeatureUpdateKey] = []
    for _ in range(count):
        feature_updates_item, pos = _read_feature_update_key_v1(buf, pos, budget)
        feature_updates.append(feature_updates_item)
    validate_only = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = UpdateFeaturesRequest(
        timeout_ms=timeout_ms,
        feature_updates=feature_updates,
        validate_only=validate_only,
    )
    return value, pos


def _write_update_features_request_v1(out: bytearray, message: UpdateFeaturesRequest) -> None:
    out += _PACKED_i.pack(message.timeout_ms)
    feature_updates = message.feature_updates
    write_compact_array_length(out, len(feature_updates))
    for feature_updates_item in feature_updates:
        _write_feature_update_key_v1(out, feature_updates_item)
    out += _PACKED_o.pack(message.validate_only)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[UpdateFeaturesRequest, int]], ...]] = (
    _read_update_features_request_v0,
    _read_update_features_request_v1,
    _read_update_features_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, UpdateFeaturesRequest], None], ...]] = (
    _write_update_features_request_v0,
    _write_update_features_request_v1,
    _write_update_features_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> UpdateFeaturesRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("UpdateFeaturesRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UpdateFeaturesRequest is cut short") from error


def encode_request_into(out: bytearray, message: UpdateFeaturesRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("UpdateFeaturesRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UpdateFeaturesRequest holds a value out of range: {error}") from error


def encode_request(message: UpdateFeaturesRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_updatable_feature_result_v0(buf: Buffer, pos: int) -> tuple[UpdatableFeatureResult, int]:
    feature, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = UpdatableFeatureResult(
        feature=feature,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_updatable_feature_result_v0(out: bytearray, message: UpdatableFeatureResult) -> None:
    write_compact_string(out, message.feature)
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_update_features_response_v0(buf: Buffer, pos: int) -> tuple[UpdateFeaturesResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 5)
    results: list[UpdatableFeatureResult] = []
    for _ in range(count):
        results_item, pos = _read_updatable_feature_result_v0(buf, pos)
        results.append(results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = UpdateFeaturesResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        results=results,
    )
    return value, pos


def _write_update_features_response_v0(out: bytearray, message: UpdateFeaturesResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    results = message.results
    write_compact_array_length(out, len(results))
    for results_item in results:
        _write_updatable_feature_result_v0(out, results_item)
    out.append(0)


def _read_update_features_response_v2(buf: Buffer, pos: int) -> tuple[UpdateFeaturesResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = UpdateFeaturesResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_update_features_response_v2(out: bytearray, message: UpdateFeaturesResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[UpdateFeaturesResponse, int]], ...]] = (
    _read_update_features_response_v0,
    _read_update_features_response_v0,
    _read_update_features_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, UpdateFeaturesResponse], None], ...]] = (
    _write_update_features_response_v0,
    _write_update_features_response_v0,
    _write_update_features_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> UpdateFeaturesResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("UpdateFeaturesResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UpdateFeaturesResponse is cut short") from error


def encode_response_into(out: bytearray, message: UpdateFeaturesResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("UpdateFeaturesResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UpdateFeaturesResponse holds a value out of range: {error}") from error


def encode_response(message: UpdateFeaturesResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
