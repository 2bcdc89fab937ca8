"""InitProducerIdRequest and InitProducerIdResponse.

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
    read_nullable_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_nullable_string,
)

API_KEY: Final = 22
VERSIONS: Final = range(0, 7)
FLEXIBLE_FROM: Final = 2

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ihqh: Final = struct.Struct(">ihqh")
_PACKED_ihqhqh: Final = struct.Struct(">ihqhqh")
_PACKED_iqh: Final = struct.Struct(">iqh")
_PACKED_iqhoo: Final = struct.Struct(">iqh??")


class InitProducerIdRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2_pc: bool = False
    keep_prepared_txn: bool = False


class InitProducerIdResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1


def _read_init_producer_id_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[InitProducerIdRequest, int]:
    transactional_id, pos = read_nullable_string(buf, pos)
    transaction_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms,
    )
    return value, pos


def _write_init_producer_id_request_v0(out: bytearray, message: InitProducerIdRequest) -> None:
    if message.producer_id != -1:
        raise unsupported_field("InitProducerIdRequest.producer_id", 0, 1)
    if message.producer_epoch != -1:
        raise unsupported_field("InitProducerIdRequest.producer_epoch", 0, 1)
    if message.enable2_pc:
        raise unsupported_field("InitProducerIdRequest.enable2_pc", 0, 1)
    if message.keep_prepared_txn:
        raise unsupported_field("InitProducerIdRequest.keep_prepared_txn", 0, 1)
    write_nullable_string(out, message.transactional_id)
    out += _PACKED_i.pack(message.transaction_timeout_ms)


def _read_init_producer_id_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[InitProducerIdRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    transaction_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms,
    )
    return value, pos


def _write_init_producer_id_request_v2(out: bytearray, message: InitProducerIdRequest) -> None:
    if message.producer_id != -1:
        raise unsupported_field("InitProducerIdRequest.producer_id", 2, 2)
    if message.producer_epoch != -1:
        raise unsupported_field("InitProducerIdRequest.producer_epoch", 2, 2)
    if message.enable2_pc:
        raise unsupported_field("InitProducerIdRequest.enable2_pc", 2, 2)
    if message.keep_prepared_txn:
        raise unsupported_field("InitProducerIdRequest.keep_prepared_txn", 2, 2)
    write_compact_nullable_string(out, message.transactional_id)
    out += _PACKED_i.pack(message.transaction_timeout_ms)
    out.append(0)


def _read_init_producer_id_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[InitProducerIdRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    transaction_timeout_ms, producer_id, producer_epoch = _PACKED_iqh.unpack_from(buf, pos)
    pos += 14
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    return value, pos


def _write_init_producer_id_request_v3(out: bytearray, message: InitProducerIdRequest) -> None:
    if message.enable2_pc:
        raise unsupported_field("InitProducerIdRequest.enable2_pc", 3, 5)
    if message.keep_prepared_txn:
        raise unsupported_field("InitProducerIdRequest.keep_prepared_txn", 3, 5)
    write_compact_nullable_string(out, message.transactional_id)
    out += _PACKED_iqh.pack(message.transaction_timeout_ms, message.producer_id, message.producer_epoch)
    out.append(0)


def _read_init_producer_id_request_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[InitProducerIdRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn = _PACKED_iqhoo.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=transaction_timeout_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        enable2_pc=enable2_pc,
        keep_prepared_txn=keep_prepared_txn,
    )
    return value, pos


def _write_init_producer_id_request_v6(out: bytearray, message: InitProducerIdRequest) -> None:
    write_compact_nullable_string(out, message.transactional_id)
    out += _PACKED_iqhoo.pack(message.transaction_timeout_ms, message.producer_id, message.producer_epoch, message.enable2_pc, message.keep_prepared_txn)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[InitProducerIdRequest, int]], ...]] = (
    _read_init_producer_id_request_v0,
    _read_init_producer_id_request_v0,
    _read_init_producer_id_request_v2,
    _read_init_producer_id_request_v3,
    _read_init_producer_id_request_v3,
    _read_init_producer_id_request_v3,
    _read_init_producer_id_request_v6,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, InitProducerIdRequest], None], ...]] = (
    _write_init_producer_id_request_v0,
    _write_init_producer_id_request_v0,
    _write_init_producer_id_request_v2,
    _write_init_producer_id_request_v3,
    _write_init_producer_id_request_v3,
    _write_init_producer_id_request_v3,
    _write_init_producer_id_request_v6,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> InitProducerIdRequest:
    if not 0 <= version <= 6:
        raise unsupported_version("InitProducerIdRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("InitProducerIdRequest is cut short") from error


def encode_request_into(out: bytearray, message: InitProducerIdRequest, version: int) -> None:
    if not 0 <= version <= 6:
        raise unsupported_version("InitProducerIdRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"InitProducerIdRequest holds a value out of range: {error}") from error


def encode_request(message: InitProducerIdRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_init_producer_id_response_v0(buf: Buffer, pos: int) -> tuple[InitProducerIdResponse, int]:
    throttle_time_ms, error_code, producer_id, producer_epoch = _PACKED_ihqh.unpack_from(buf, pos)
    pos += 16
    value = InitProducerIdResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    return value, pos


def _write_init_producer_id_response_v0(out: bytearray, message: InitProducerIdResponse) -> None:
    if message.ongoing_txn_producer_id != -1:
        raise unsupported_field("InitProducerIdResponse.ongoing_txn_producer_id", 0, 1)
    if message.ongoing_txn_producer_epoch != -1:
        raise unsupported_field("InitProducerIdResponse.ongoing_txn_producer_epoch", 0, 1)
    out += _PACKED_ihqh.pack(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)


def _read_init_producer_id_response_v2(buf: Buffer, pos: int) -> tuple[InitProducerIdResponse, int]:
    throttle_time_ms, error_code, producer_id, producer_epoch = _PACKED_ihqh.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = InitProducerIdResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    return value, pos


def _write_init_producer_id_response_v2(out: bytearray, message: InitProducerIdResponse) -> None:
    if message.ongoing_txn_producer_id != -1:
        raise unsupported_field("InitProducerIdResponse.ongoing_txn_producer_id", 2, 5)
    if message.ongoing_txn_producer_epoch != -1:
        raise unsupported_field("InitProducerIdResponse.ongoing_txn_producer_epoch", 2, 5)
    out += _PACKED_ihqh.pack(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    out.append(0)


def _read_init_producer_id_response_v6(buf: Buffer, pos: int) -> tuple[InitProducerIdResponse, int]:
    throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch = _PACKED_ihqhqh.unpack_from(buf, pos)
    pos += 26
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = InitProducerIdResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        ongoing_txn_producer_id=ongoing_txn_producer_id,
        ongoing_txn_producer_epoch=ongoing_txn_producer_epoch,
    )
    return value, pos


def _write_init_producer_id_response_v6(out: bytearray, message: InitProducerIdResponse) -> None:
    out += _PACKED_ihqhqh.pack(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch, message.ongoing_txn_producer_id, message.ongoing_txn_producer_epoch)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[InitProducerIdResponse, int]], ...]] = (
    _read_init_producer_id_response_v0,
    _read_init_producer_id_response_v0,
    _read_init_producer_id_response_v2,
    _read_init_producer_id_response_v2,
    _read_init_producer_id_response_v2,
    _read_init_producer_id_response_v2,
    _read_init_producer_id_response_v6,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, InitProducerIdResponse], None], ...]] = (
    _write_init_producer_id_response_v0,
    _write_init_producer_id_response_v0,
    _write_init_producer_id_response_v2,
    _write_init_producer_id_response_v2,
    _write_init_producer_id_response_v2,
    _write_init_producer_id_response_v2,
    _write_init_producer_id_response_v6,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> InitProducerIdResponse:
    if not 0 <= version <= 6:
        raise unsupported_version("InitProducerIdResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("InitProducerIdResponse is cut short") from error


def encode_response_into(out: bytearray, message: InitProducerIdResponse, version: int) -> None:
    if not 0 <= version <= 6:
        raise unsupported_version("InitProducerIdResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"InitProducerIdResponse holds a value out of range: {error}") from error


def encode_response(message: InitProducerIdResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
