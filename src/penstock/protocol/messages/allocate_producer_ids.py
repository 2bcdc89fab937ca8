"""AllocateProducerIdsRequest and AllocateProducerIdsResponse.

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
    skip_tagged_fields,
    unsupported_version,
)

API_KEY: Final = 67
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_ihqi: Final = struct.Struct(">ihqi")
_PACKED_iq: Final = struct.Struct(">iq")


class AllocateProducerIdsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = -1


class AllocateProducerIdsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id_start: int = 0
    producer_id_len: int = 0


def _read_allocate_producer_ids_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AllocateProducerIdsRequest, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=broker_epoch), pos


def _write_allocate_producer_ids_request_v0(out: bytearray, message: AllocateProducerIdsRequest) -> None:
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AllocateProducerIdsRequest, int]], ...]] = (
    _read_allocate_producer_ids_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AllocateProducerIdsRequest], None], ...]] = (
    _write_allocate_producer_ids_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AllocateProducerIdsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("AllocateProducerIdsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AllocateProducerIdsRequest is cut short") from error


def encode_request_into(out: bytearray, message: AllocateProducerIdsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AllocateProducerIdsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AllocateProducerIdsRequest holds a value out of range: {error}") from error


def encode_request(message: AllocateProducerIdsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_allocate_producer_ids_response_v0(buf: Buffer, pos: int) -> tuple[AllocateProducerIdsResponse, int]:
    throttle_time_ms, error_code, producer_id_start, producer_id_len = _PACKED_ihqi.unpack_from(buf, pos)
    pos += 18
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AllocateProducerIdsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        producer_id_start=producer_id_start,
        producer_id_len=producer_id_len,
    )
    return value, pos


def _write_allocate_producer_ids_response_v0(out: bytearray, message: AllocateProducerIdsResponse) -> None:
    out += _PACKED_ihqi.pack(message.throttle_time_ms, message.error_code, message.producer_id_start, message.producer_id_len)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AllocateProducerIdsResponse, int]], ...]] = (
    _read_allocate_producer_ids_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AllocateProducerIdsResponse], None], ...]] = (
    _write_allocate_producer_ids_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AllocateProducerIdsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("AllocateProducerIdsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AllocateProducerIdsResponse is cut short") from error


def encode_response_into(out: bytearray, message: AllocateProducerIdsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("AllocateProducerIdsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AllocateProducerIdsResponse holds a value out of range: {error}") from error


def encode_response(message: AllocateProducerIdsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
