"""BrokerRegistrationRequest and BrokerRegistrationResponse.

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
    read_uuids,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_uuids,
)

API_KEY: Final = 62
VERSIONS: Final = range(0, 5)
FLEXIBLE_FROM: Final = 0

_PACKED_Hh: Final = struct.Struct(">Hh")
_PACKED_hh: Final = struct.Struct(">hh")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ihq: Final = struct.Struct(">ihq")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_u: Final = struct.Struct(">16s")


class Listener(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0
    security_protocol: int = 0


class Feature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    min_supported_version: int = 0
    max_supported_version: int = 0


class BrokerRegistrationRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    cluster_id: str = ""
    incarnation_id: bytes = ZERO_UUID
    listeners: list[Listener] = []
    features: list[Feature] = []
    rack: str | None = ""
    is_migrating_zk_broker: bool = False
    log_dirs: list[bytes] = []
    previous_broker_epoch: int = -1


class BrokerRegistrationResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    broker_epoch: int = -1


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


def _read_broker_registration_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerRegistrationRequest, int]:
    broker_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    cluster_id, pos = read_compact_string(buf, pos)
    incarnation_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
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
    rack, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=listeners,
        features=features,
        rack=rack,
    )
    return value, pos


def _write_broker_registration_request_v0(out: bytearray, message: BrokerRegistrationRequest) -> None:
    if message.is_migrating_zk_broker:
        raise unsupported_field("BrokerRegistrationRequest.is_migrating_zk_broker", 0, 0)
    out += _PACKED_i.pack(message.broker_id)
    write_compact_string(out, message.cluster_id)
    out += _PACKED_u.pack(message.incarnation_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out.append(0)


def _read_broker_registration_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerRegistrationRequest, int]:
    broker_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    cluster_id, pos = read_compact_string(buf, pos)
    incarnation_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
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
    rack, pos = read_compact_nullable_string(buf, pos)
    is_migrating_zk_broker = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=listeners,
        features=features,
        rack=rack,
        is_migrating_zk_broker=is_migrating_zk_broker,
    )
    return value, pos


def _write_broker_registration_request_v1(out: bytearray, message: BrokerRegistrationRequest) -> None:
    out += _PACKED_i.pack(message.broker_id)
    write_compact_string(out, message.cluster_id)
    out += _PACKED_u.pack(message.incarnation_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_o.pack(message.is_migrating_zk_broker)
    out.append(0)


def _read_broker_registration_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerRegistrationRequest, int]:
    broker_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    cluster_id, pos = read_compact_string(buf, pos)
    incarnation_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
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
    rack, pos = read_compact_nullable_string(buf, pos)
    is_migrating_zk_broker = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_compact_array_length(buf, pos, 16)
    budget.take(count)
    log_dirs, pos = read_uuids(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=listeners,
        features=features,
        rack=rack,
        is_migrating_zk_broker=is_migrating_zk_broker,
        log_dirs=log_dirs,
    )
    return value, pos


def _write_broker_registration_request_v2(out: bytearray, message: BrokerRegistrationRequest) -> None:
    out += _PACKED_i.pack(message.broker_id)
    write_compact_string(out, message.cluster_id)
    out += _PACKED_u.pack(message.incarnation_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_o.pack(message.is_migrating_zk_broker)
    log_dirs = message.log_dirs
    write_compact_array_length(out, len(log_dirs))
    write_uuids(out, log_dirs)
    out.append(0)


def _read_broker_registration_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerRegistrationRequest, int]:
    broker_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    cluster_id, pos = read_compact_string(buf, pos)
    incarnation_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
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
    rack, pos = read_compact_nullable_string(buf, pos)
    is_migrating_zk_broker = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    count, pos = read_compact_array_length(buf, pos, 16)
    budget.take(count)
    log_dirs, pos = read_uuids(buf, pos, count)
    previous_broker_epoch = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=listeners,
        features=features,
        rack=rack,
        is_migrating_zk_broker=is_migrating_zk_broker,
        log_dirs=log_dirs,
        previous_broker_epoch=previous_broker_epoch,
    )
    return value, pos


def _write_broker_registration_request_v3(out: bytearray, message: BrokerRegistrationRequest) -> None:
    out += _PACKED_i.pack(message.broker_id)
    write_compact_string(out, message.cluster_id)
    out += _PACKED_u.pack(message.incarnation_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    features = message.features
    write_compact_array_length(out, len(features))
    for features_item in features:
        _write_feature_v0(out, features_item)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_o.pack(message.is_migrating_zk_broker)
    log_dirs = message.log_dirs
    write_compact_array_length(out, len(log_dirs))
    write_uuids(out, log_dirs)
    out += _PACKED_q.pack(message.previous_broker_epoch)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[BrokerRegistrationRequest, int]], ...]] = (
    _read_broker_registration_request_v0,
    _read_broker_registration_request_v1,
    _read_broker_registration_request_v2,
    _read_broker_registration_request_v3,
    _read_broker_registration_request_v3,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, BrokerRegistrationRequest], None], ...]] = (
    _write_broker_registration_request_v0,
    _write_broker_registration_request_v1,
    _write_broker_registration_request_v2,
    _write_broker_registration_request_v3,
    _write_broker_registration_request_v3,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> BrokerRegistrationRequest:
    if not 0 <= version <= 4:
        raise unsupported_version("BrokerRegistrationRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BrokerRegistrationRequest is cut short") from error


def encode_request_into(out: bytearray, message: BrokerRegistrationRequest, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("BrokerRegistrationRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BrokerRegistrationRequest holds a value out of range: {error}") from error


def encode_request(message: BrokerRegistrationRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_broker_registration_response_v0(buf: Buffer, pos: int) -> tuple[BrokerRegistrationResponse, int]:
    throttle_time_ms, error_code, broker_epoch = _PACKED_ihq.unpack_from(buf, pos)
    pos += 14
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = BrokerRegistrationResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        broker_epoch=broker_epoch,
    )
    return value, pos


def _write_broker_registration_response_v0(out: bytearray, message: BrokerRegistrationResponse) -> None:
    out += _PACKED_ihq.pack(message.throttle_time_ms, message.error_code, message.broker_epoch)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[BrokerRegistrationResponse, int]], ...]] = (
    _read_broker_registration_response_v0,
    _read_broker_registration_response_v0,
    _read_broker_registration_response_v0,
    _read_broker_registration_response_v0,
    _read_broker_registration_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, BrokerRegistrationResponse], None], ...]] = (
    _write_broker_registration_response_v0,
    _write_broker_registration_response_v0,
    _write_broker_registration_response_v0,
    _write_broker_registration_response_v0,
    _write_broker_registration_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> BrokerRegistrationResponse:
    if not 0 <= version <= 4:
        raise unsupported_version("BrokerRegistrationResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("BrokerRegistrationResponse is cut short") from error


def encode_response_into(out: bytearray, message: BrokerRegistrationResponse, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("BrokerRegistrationResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"BrokerRegistrationResponse holds a value out of range: {error}") from error


def encode_response(message: BrokerRegistrationResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
