"""ApiVersionsRequest and ApiVersionsResponse.

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
    read_compact_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 18
VERSIONS: Final = range(0, 5)
FLEXIBLE_FROM: Final = 3

_PACKED_h: Final = struct.Struct(">h")
_PACKED_hh: Final = struct.Struct(">hh")
_PACKED_hhh: Final = struct.Struct(">hhh")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_q: Final = struct.Struct(">q")


class ApiVersionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    client_software_name: str = ""
    client_software_version: str = ""


class ApiVersion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    api_key: int = 0
    min_version: int = 0
    max_version: int = 0


class SupportedFeatureKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    min_version: int = 0
    max_version: int = 0


class FinalizedFeatureKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    max_version_level: int = 0
    min_version_level: int = 0


class ApiVersionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: int = 0
    supported_features: list[SupportedFeatureKey] = []
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = []
    zk_migration_ready: bool = False


def _read_api_versions_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ApiVersionsRequest, int]:
    return ApiVersionsRequest(), pos


def _write_api_versions_request_v0(out: bytearray, message: ApiVersionsRequest) -> None:
    pass


def _read_api_versions_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[ApiVersionsRequest, int]:
    client_software_name, pos = read_compact_string(buf, pos)
    client_software_version, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ApiVersionsRequest(
        client_software_name=client_software_name,
        client_software_version=client_software_version,
    )
    return value, pos


def _write_api_versions_request_v3(out: bytearray, message: ApiVersionsRequest) -> None:
    write_compact_string(out, message.client_software_name)
    write_compact_string(out, message.client_software_version)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ApiVersionsRequest, int]], ...]] = (
    _read_api_versions_request_v0,
    _read_api_versions_request_v0,
    _read_api_versions_request_v0,
    _read_api_versions_request_v3,
    _read_api_versions_request_v3,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ApiVersionsRequest], None], ...]] = (
    _write_api_versions_request_v0,
    _write_api_versions_request_v0,
    _write_api_versions_request_v0,
    _write_api_versions_request_v3,
    _write_api_versions_request_v3,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ApiVersionsRequest:
    if not 0 <= version <= 4:
        raise unsupported_version("ApiVersionsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ApiVersionsRequest is cut short") from error


def encode_request_into(out: bytearray, message: ApiVersionsRequest, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("ApiVersionsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ApiVersionsRequest holds a value out of range: {error}") from error


def encode_request(message: ApiVersionsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_api_version_v0(buf: Buffer, pos: int) -> tuple[ApiVersion, int]:
    api_key, min_version, max_version = _PACKED_hhh.unpack_from(buf, pos)
    pos += 6
    return ApiVersion(api_key=api_key, min_version=min_version, max_version=max_version), pos


def _write_api_version_v0(out: bytearray, message: ApiVersion) -> None:
    out += _PACKED_hhh.pack(message.api_key, message.min_version, message.max_version)


def _read_api_version_v3(buf: Buffer, pos: int) -> tuple[ApiVersion, int]:
    api_key, min_version, max_version = _PACKED_hhh.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ApiVersion(api_key=api_key, min_version=min_version, max_version=max_version), pos


def _write_api_version_v3(out: bytearray, message: ApiVersion) -> None:
    out += _PACKED_hhh.pack(message.api_key, message.min_version, message.max_version)
    out.append(0)


def _read_supported_feature_key_v3(buf: Buffer, pos: int) -> tuple[SupportedFeatureKey, int]:
    name, pos = read_compact_string(buf, pos)
    min_version, max_version = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return SupportedFeatureKey(name=name, min_version=min_version, max_version=max_version), pos


def _write_supported_feature_key_v3(out: bytearray, message: SupportedFeatureKey) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_hh.pack(message.min_version, message.max_version)
    out.append(0)


def _read_finalized_feature_key_v3(buf: Buffer, pos: int) -> tuple[FinalizedFeatureKey, int]:
    name, pos = read_compact_string(buf, pos)
    max_version_level, min_version_level = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = FinalizedFeatureKey(
        name=name,
        max_version_level=max_version_level,
        min_version_level=min_version_level,
    )
    return value, pos


def _write_finalized_feature_key_v3(out: bytearray, message: FinalizedFeatureKey) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_hh.pack(message.max_version_level, message.min_version_level)
    out.append(0)


def _read_api_versions_response_v0(buf: Buffer, pos: int) -> tuple[ApiVersionsResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_array_length(buf, pos, 6)
    api_keys: list[ApiVersion] = []
    for _ in range(count):
        api_keys_item, pos = _read_api_version_v0(buf, pos)
        api_keys.append(api_keys_item)
    return ApiVersionsResponse(error_code=error_code, api_keys=api_keys), pos


def _write_api_versions_response_v0(out: bytearray, message: ApiVersionsResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    api_keys = message.api_keys
    write_array_length(out, len(api_keys))
    for api_keys_item in api_keys:
        _write_api_version_v0(out, api_keys_item)


def _read_api_versions_response_v1(buf: Buffer, pos: int) -> tuple[ApiVersionsResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_array_length(buf, pos, 6)
    api_keys: list[ApiVersion] = []
    for _ in range(count):
        api_keys_item, pos = _read_api_version_v0(buf, pos)
        api_keys.append(api_keys_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = ApiVersionsResponse(
        error_code=error_code,
        api_keys=api_keys,
        throttle_time_ms=throttle_time_ms,
    )
    return value, pos


def _write_api_versions_response_v1(out: bytearray, message: ApiVersionsResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    api_keys = message.api_keys
    write_array_length(out, len(api_keys))
    for api_keys_item in api_keys:
        _write_api_version_v0(out, api_keys_item)
    out += _PACKED_i.pack(message.throttle_time_ms)


def _read_api_versions_response_v3(buf: Buffer, pos: int) -> tuple[ApiVersionsResponse, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 7)
    api_keys: list[ApiVersion] = []
    for _ in range(count):
        api_keys_item, pos = _read_api_version_v3(buf, pos)
        api_keys.append(api_keys_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    supported_features: list[SupportedFeatureKey] = []
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = []
    zk_migration_ready: bool = False
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 6)
                supported_features = []
                for _ in range(count):
                    supported_features_item, pos = _read_supported_feature_key_v3(buf, pos)
                    supported_features.append(supported_features_item)
            elif tag == 1:
                finalized_features_epoch = _PACKED_q.unpack_from(buf, pos)[0]
                pos += 8
            elif tag == 2:
                count, pos = read_compact_array_length(buf, pos, 6)
                finalized_features = []
                for _ in range(count):
                    finalized_features_item, pos = _read_finalized_feature_key_v3(buf, pos)
                    finalized_features.append(finalized_features_item)
            elif tag == 3:
                zk_migration_ready = _PACKED_o.unpack_from(buf, pos)[0]
                pos += 1
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("ApiVersionsResponse", tag)
    value = ApiVersionsResponse(
        error_code=error_code,
        api_keys=api_keys,
        throttle_time_ms=throttle_time_ms,
        supported_features=supported_features,
        finalized_features_epoch=finalized_features_epoch,
        finalized_features=finalized_features,
        zk_migration_ready=zk_migration_ready,
    )
    return value, pos


def _write_api_versions_response_v3(out: bytearray, message: ApiVersionsResponse) -> None:
    out += _PACKED_h.pack(message.error_code)
    api_keys = message.api_keys
    write_compact_array_length(out, len(api_keys))
    for api_keys_item in api_keys:
        _write_api_version_v3(out, api_keys_item)
    out += _PACKED_i.pack(message.throttle_time_ms)
    tagged: list[tuple[int, bytearray]] = []
    if message.supported_features != []:
        value = bytearray()
        supported_features = message.supported_features
        write_compact_array_length(value, len(supported_features))
        for supported_features_item in supported_features:
            _write_supported_feature_key_v3(value, supported_features_item)
        tagged.append((0, value))
    if message.finalized_features_epoch != -1:
        value = bytearray()
        value += _PACKED_q.pack(message.finalized_features_epoch)
        tagged.append((1, value))
    if message.finalized_features != []:
        value = bytearray()
        finalized_features = message.finalized_features
        write_compact_array_length(value, len(finalized_features))
        for finalized_features_item in finalized_features:
            _write_finalized_feature_key_v3(value, finalized_features_item)
        tagged.append((2, value))
    if message.zk_migration_ready:
        value = bytearray()
        value += _PACKED_o.pack(message.zk_migration_ready)
        tagged.append((3, value))
    write_tagged_fields(out, tagged)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ApiVersionsResponse, int]], ...]] = (
    _read_api_versions_response_v0,
    _read_api_versions_response_v1,
    _read_api_versions_response_v1,
    _read_api_versions_response_v3,
    _read_api_versions_response_v3,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ApiVersionsResponse], None], ...]] = (
    _write_api_versions_response_v0,
    _write_api_versions_response_v1,
    _write_api_versions_response_v1,
    _write_api_versions_response_v3,
    _write_api_versions_response_v3,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ApiVersionsResponse:
    if not 0 <= version <= 4:
        raise unsupported_version("ApiVersionsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ApiVersionsResponse is cut short") from error


def encode_response_into(out: bytearray, message: ApiVersionsResponse, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("ApiVersionsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ApiVersionsResponse holds a value out of range: {error}") from error


def encode_response(message: ApiVersionsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
