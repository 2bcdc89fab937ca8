"""DescribeClusterRequest and DescribeClusterResponse.

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

API_KEY: Final = 60
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_b: Final = struct.Struct(">b")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_o: Final = struct.Struct(">?")
_PACKED_ob: Final = struct.Struct(">?b")
_PACKED_obo: Final = struct.Struct(">?b?")


class DescribeClusterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False


class DescribeClusterBroker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False


class DescribeClusterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: int = -2147483648


def _read_describe_cluster_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeClusterRequest, int]:
    include_cluster_authorized_operations = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeClusterRequest(
        include_cluster_authorized_operations=include_cluster_authorized_operations,
    )
    return value, pos


def _write_describe_cluster_request_v0(out: bytearray, message: DescribeClusterRequest) -> None:
    if message.endpoint_type != 1:
        raise unsupported_field("DescribeClusterRequest.endpoint_type", 0, 0)
    if message.include_fenced_brokers:
        raise unsupported_field("DescribeClusterRequest.include_fenced_brokers", 0, 0)
    out += _PACKED_o.pack(message.include_cluster_authorized_operations)
    out.append(0)


def _read_describe_cluster_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeClusterRequest, int]:
    include_cluster_authorized_operations, endpoint_type = _PACKED_ob.unpack_from(buf, pos)
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeClusterRequest(
        include_cluster_authorized_operations=include_cluster_authorized_operations,
        endpoint_type=endpoint_type,
    )
    return value, pos


def _write_describe_cluster_request_v1(out: bytearray, message: DescribeClusterRequest) -> None:
    if message.include_fenced_brokers:
        raise unsupported_field("DescribeClusterRequest.include_fenced_brokers", 1, 1)
    out += _PACKED_ob.pack(message.include_cluster_authorized_operations, message.endpoint_type)
    out.append(0)


def _read_describe_cluster_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeClusterRequest, int]:
    include_cluster_authorized_operations, endpoint_type, include_fenced_brokers = _PACKED_obo.unpack_from(buf, pos)
    pos += 3
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = DescribeClusterRequest(
        include_cluster_authorized_operations=include_cluster_authorized_operations,
        endpoint_type=endpoint_type,
        include_fenced_brokers=include_fenced_brokers,
    )
    return value, pos


def _write_describe_cluster_request_v2(out: bytearray, message: DescribeClusterRequest) -> None:
    out += _PACKED_obo.pack(message.include_cluster_authorized_operations, message.endpoint_type, message.include_fenced_brokers)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeClusterRequest, int]], ...]] = (
    _read_describe_cluster_request_v0,
    _read_describe_cluster_request_v1,
    _read_describe_cluster_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeClusterRequest], None], ...]] = (
    _write_describe_cluster_request_v0,
    _write_describe_cluster_request_v1,
    _write_describe_cluster_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeClusterRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeClusterRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeClusterRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeClusterRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeClusterRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeClusterRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeClusterRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_describe_cluster_broker_v0(buf: Buffer, pos: int) -> tuple[DescribeClusterBroker, int]:
    broker_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    rack, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DescribeClusterBroker(broker_id=broker_id, host=host, port=port, rack=rack), pos


def _write_describe_cluster_broker_v0(out: bytearray, message: DescribeClusterBroker) -> None:
    if message.is_fenced:
        raise unsupported_field("DescribeClusterBroker.is_fenced", 0, 1)
    out += _PACKED_i.pack(message.broker_id)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    write_compact_nullable_string(out, message.rack)
    out.append(0)


def _read_describe_cluster_broker_v2(buf: Buffer, pos: int) -> tuple[DescribeClusterBroker, int]:
    broker_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    rack, pos = read_compact_nullable_string(buf, pos)
    is_fenced = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeClusterBroker(
        broker_id=broker_id,
        host=host,
        port=port,
        rack=rack,
        is_fenced=is_fenced,
    )
    return value, pos


def _write_describe_cluster_broker_v2(out: bytearray, message: DescribeClusterBroker) -> None:
    out += _PACKED_i.pack(message.broker_id)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    write_compact_nullable_string(out, message.rack)
    out += _PACKED_o.pack(message.is_fenced)
    out.append(0)


def _read_describe_cluster_response_v0(buf: Buffer, pos: int) -> tuple[DescribeClusterResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    cluster_id, pos = read_compact_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 11)
    brokers: list[DescribeClusterBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_describe_cluster_broker_v0(buf, pos)
        brokers.append(brokers_item)
    cluster_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeClusterResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        cluster_id=cluster_id,
        controller_id=controller_id,
        brokers=brokers,
        cluster_authorized_operations=cluster_authorized_operations,
    )
    return value, pos


def _write_describe_cluster_response_v0(out: bytearray, message: DescribeClusterResponse) -> None:
    if message.endpoint_type != 1:
        raise unsupported_field("DescribeClusterResponse.endpoint_type", 0, 0)
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    write_compact_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_describe_cluster_broker_v0(out, brokers_item)
    out += _PACKED_i.pack(message.cluster_authorized_operations)
    out.append(0)


def _read_describe_cluster_response_v1(buf: Buffer, pos: int) -> tuple[DescribeClusterResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    endpoint_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    cluster_id, pos = read_compact_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 11)
    brokers: list[DescribeClusterBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_describe_cluster_broker_v0(buf, pos)
        brokers.append(brokers_item)
    cluster_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeClusterResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        endpoint_type=endpoint_type,
        cluster_id=cluster_id,
        controller_id=controller_id,
        brokers=brokers,
        cluster_authorized_operations=cluster_authorized_operations,
    )
    return value, pos


def _write_describe_cluster_response_v1(out: bytearray, message: DescribeClusterResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.endpoint_type)
    write_compact_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_describe_cluster_broker_v0(out, brokers_item)
    out += _PACKED_i.pack(message.cluster_authorized_operations)
    out.append(0)


def _read_describe_cluster_response_v2(buf: Buffer, pos: int) -> tuple[DescribeClusterResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    endpoint_type = _PACKED_b.unpack_from(buf, pos)[0]
    pos += 1
    cluster_id, pos = read_compact_string(buf, pos)
    controller_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 12)
    brokers: list[DescribeClusterBroker] = []
    for _ in range(count):
        brokers_item, pos = _read_describe_cluster_broker_v2(buf, pos)
        brokers.append(brokers_item)
    cluster_authorized_operations = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeClusterResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        endpoint_type=endpoint_type,
        cluster_id=cluster_id,
        controller_id=controller_id,
        brokers=brokers,
        cluster_authorized_operations=cluster_authorized_operations,
    )
    return value, pos


def _write_describe_cluster_response_v2(out: bytearray, message: DescribeClusterResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_b.pack(message.endpoint_type)
    write_compact_string(out, message.cluster_id)
    out += _PACKED_i.pack(message.controller_id)
    brokers = message.brokers
    write_compact_array_length(out, len(brokers))
    for brokers_item in brokers:
        _write_describe_cluster_broker_v2(out, brokers_item)
    out += _PACKED_i.pack(message.cluster_authorized_operations)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeClusterResponse, int]], ...]] = (
    _read_describe_cluster_response_v0,
    _read_describe_cluster_response_v1,
    _read_describe_cluster_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeClusterResponse], None], ...]] = (
    _write_describe_cluster_response_v0,
    _write_describe_cluster_response_v1,
    _write_describe_cluster_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeClusterResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeClusterResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeClusterResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeClusterResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("DescribeClusterResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeClusterResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeClusterResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
