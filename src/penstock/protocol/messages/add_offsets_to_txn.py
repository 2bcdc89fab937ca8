"""AddOffsetsToTxnRequest and AddOffsetsToTxnResponse.

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

API_KEY: Final = 25
VERSIONS: Final = range(0, 5)
FLEXIBLE_FROM: Final = 3

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_qh: Final = struct.Struct(">qh")


class AddOffsetsToTxnRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""


class AddOffsetsToTxnResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0


def _read_add_offsets_to_txn_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AddOffsetsToTxnRequest, int]:
    transactional_id, pos = read_string(buf, pos)
    producer_id, producer_epoch = _PACKED_qh.unpack_from(buf, pos)
    pos += 10
    group_id, pos = read_string(buf, pos)
    value = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        group_id=group_id,
    )
    return value, pos


def _write_add_offsets_to_txn_request_v0(out: bytearray, message: AddOffsetsToTxnRequest) -> None:
    write_string(out, message.transactional_id)
    out += _PACKED_qh.pack(message.producer_id, message.producer_epoch)
    write_string(out, message.group_id)


def _read_add_offsets_to_txn_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[AddOffsetsToTxnRequest, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    producer_id, producer_epoch = _PACKED_qh.unpack_from(buf, pos)
    pos += 10
    group_id, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        group_id=group_id,
    )
    return value, pos


def _write_add_offsets_to_txn_request_v3(out: bytearray, message: AddOffsetsToTxnRequest) -> None:
    write_compact_string(out, message.transactional_id)
    out += _PACKED_qh.pack(message.producer_id, message.producer_epoch)
    write_compact_string(out, message.group_id)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AddOffsetsToTxnRequest, int]], ...]] = (
    _read_add_offsets_to_txn_request_v0,
    _read_add_offsets_to_txn_request_v0,
    _read_add_offsets_to_txn_request_v0,
    _read_add_offsets_to_txn_request_v3,
    _read_add_offsets_to_txn_request_v3,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AddOffsetsToTxnRequest], None], ...]] = (
    _write_add_offsets_to_txn_request_v0,
    _write_add_offsets_to_txn_request_v0,
    _write_add_offsets_to_txn_request_v0,
    _write_add_offsets_to_txn_request_v3,
    _write_add_offsets_to_txn_request_v3,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AddOffsetsToTxnRequest:
    if not 0 <= version <= 4:
        raise unsupported_version("AddOffsetsToTxnRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AddOffsetsToTxnRequest is cut short") from error


def encode_request_into(out: bytearray, message: AddOffsetsToTxnRequest, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("AddOffsetsToTxnRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AddOffsetsToTxnRequest holds a value out of range: {error}") from error


def encode_request(message: AddOffsetsToTxnRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_add_offsets_to_txn_response_v0(buf: Buffer, pos: int) -> tuple[AddOffsetsToTxnResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    return AddOffsetsToTxnResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_add_offsets_to_txn_response_v0(out: bytearray, message: AddOffsetsToTxnResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)


def _read_add_offsets_to_txn_response_v3(buf: Buffer, pos: int) -> tuple[AddOffsetsToTxnResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AddOffsetsToTxnResponse(throttle_time_ms=throttle_time_ms, error_code=error_code), pos


def _write_add_offsets_to_txn_response_v3(out: bytearray, message: AddOffsetsToTxnResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AddOffsetsToTxnResponse, int]], ...]] = (
    _read_add_offsets_to_txn_response_v0,
    _read_add_offsets_to_txn_response_v0,
    _read_add_offsets_to_txn_response_v0,
    _read_add_offsets_to_txn_response_v3,
    _read_add_offsets_to_txn_response_v3,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AddOffsetsToTxnResponse], None], ...]] = (
    _write_add_offsets_to_txn_response_v0,
    _write_add_offsets_to_txn_response_v0,
    _write_add_offsets_to_txn_response_v0,
    _write_add_offsets_to_txn_response_v3,
    _write_add_offsets_to_txn_response_v3,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AddOffsetsToTxnResponse:
    if not 0 <= version <= 4:
        raise unsupported_version("AddOffsetsToTxnResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AddOffsetsToTxnResponse is cut short") from error


def encode_response_into(out: bytearray, message: AddOffsetsToTxnResponse, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("AddOffsetsToTxnResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AddOffsetsToTxnResponse holds a value out of range: {error}") from error


def encode_response(message: AddOffsetsToTxnResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
