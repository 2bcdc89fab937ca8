"""EndTxnRequest and EndTxnResponse.

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
    read_compact_string,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_string,
    write_string,
)

API_KEY: Final = 26
VERSIONS: Final = range(0, 6)
FLEXIBLE_FROM: Final = 3

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ihqh: Final = struct.Struct(">ihqh")
_PACKED_qho: Final = struct.Struct(">qh?")


class EndTxnRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    committed: bool = False


class EndTxnResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = -1


def _read_end_txn_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[EndTxnRequest, int]:
    transactional_id, pos = read_string(buf, pos)
    producer_id, producer_epoch, committed = _PACKED_qho.unpack_from(buf, pos)
    pos += 11
    value = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        committed=committed,
    )
    return value, pos


def _write_end_txn_request_v0(out: bytearray, message: EndTxnRequest) -> None:
    write_string(out, message.transactional_id)
    out += _PACKED_qho.pack(message.producer_id, message.producer_epoch, message.committed)


def _read_end_txn_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[EndTxnRequest, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    producer_id, producer_epoch, committed = _PACKED_qho.unpack_from(buf, pos)
    pos += 11
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        committed=committed,
    )
    return value, pos


def _write_end_txn_request_v3(out: bytearray, message: EndTxnRequest) -> None:
    write_compact_string(out, message.transactional_id)
    out += _PACKED_qho.pack(message.producer_id, message.producer_epoch, message.committed)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[EndTxnRequest, int]], ...]] = (
    _read_end_txn_request_v0,
    _read_end_txn_request_v0,
    _read_end_txn_request_v0,
    _read_end_txn_request_v3,
    _read_end_txn_request_v3,
    _read_end_txn_request_v3,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, EndTxnRequest], None], ...]] = (
    _write_end_txn_request_v0,
    _write_end_txn_request_v0,
    _write_end_txn_request_v0,
    _write_end_txn_request_v3,
    _write_end_txn_request_v3,
    _write_end_txn_request_v3,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> EndTxnRequest:
    if not 0 <= version <= 5:
        raise unsupported_version("EndTxnRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("EndTxnRequest is cut short") from error


def encode_request_into(out: bytearray, message: EndTxnRequest, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("EndTxnRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"EndTxnRequest holds a value out of range: {error}") from error


def encode_request(message: EndTxnRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_end_txn_response_v0(buf: Buffer, pos: int) -> tuple[EndTxnResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    return EndTxnResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_end_txn_response_v0(out: bytearray, message: EndTxnResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)


def _read_end_txn_response_v3(buf: Buffer, pos: int) -> tuple[EndTxnResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return EndTxnResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_end_txn_response_v3(out: bytearray, message: EndTxnResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    out.append(0)


def _read_end_txn_response_v5(buf: Buffer, pos: int) -> tuple[EndTxnResponse, int]:
    throttle_time_ms, error_code, producer_id, producer_epoch = _PACKED_ihqh.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = EndTxnResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    return value, pos


def _write_end_txn_response_v5(out: bytearray, message: EndTxnResponse) -> None:
    out += _PACKED_ihqh.pack(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[EndTxnResponse, int]], ...]] = (
    _read_end_txn_response_v0,
    _read_end_txn_response_v0,
    _read_end_txn_response_v0,
    _read_end_txn_response_v3,
    _read_end_txn_response_v3,
    _read_end_txn_response_v5,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, EndTxnResponse], None], ...]] = (
    _write_end_txn_response_v0,
    _write_end_txn_response_v0,
    _write_end_txn_response_v0,
    _write_end_txn_response_v3,
    _write_end_txn_response_v3,
    _write_end_txn_response_v5,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> EndTxnResponse:
    if not 0 <= version <= 5:
        raise unsupported_version("EndTxnResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("EndTxnResponse is cut short") from error


def encode_response_into(out: bytearray, message: EndTxnResponse, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("EndTxnResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"EndTxnResponse holds a value out of range: {error}") from error


def encode_response(message: EndTxnResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
