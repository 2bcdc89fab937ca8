"""ListTransactionsRequest and ListTransactionsResponse.

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
    read_compact_strings,
    read_int64s,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_int64s,
)

API_KEY: Final = 66
VERSIONS: Final = range(0, 3)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_q: Final = struct.Struct(">q")


class ListTransactionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    state_filters: list[str] = []
    producer_id_filters: list[int] = []
    duration_filter: int = -1
    transactional_id_pattern: str | None = None


class TransactionState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    transaction_state: str = ""


class ListTransactionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = []
    transaction_states: list[TransactionState] = []


def _read_list_transactions_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[ListTransactionsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    state_filters, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    producer_id_filters, pos = read_int64s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ListTransactionsRequest(
        state_filters=state_filters,
        producer_id_filters=producer_id_filters,
    )
    return value, pos


def _write_list_transactions_request_v0(out: bytearray, message: ListTransactionsRequest) -> None:
    if message.duration_filter != -1:
        raise unsupported_field("ListTransactionsRequest.duration_filter", 0, 0)
    if message.transactional_id_pattern is not None:
        raise unsupported_field("ListTransactionsRequest.transactional_id_pattern", 0, 0)
    state_filters = message.state_filters
    write_compact_array_length(out, len(state_filters))
    write_compact_strings(out, state_filters)
    producer_id_filters = message.producer_id_filters
    write_compact_array_length(out, len(producer_id_filters))
    write_int64s(out, producer_id_filters)
    out.append(0)


def _read_list_transactions_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[ListTransactionsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    state_filters, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    producer_id_filters, pos = read_int64s(buf, pos, count)
    duration_filter = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ListTransactionsRequest(
        state_filters=state_filters,
        producer_id_filters=producer_id_filters,
        duration_filter=duration_filter,
    )
    return value, pos


def _write_list_transactions_request_v1(out: bytearray, message: ListTransactionsRequest) -> None:
    if message.transactional_id_pattern is not None:
        raise unsupported_field("ListTransactionsRequest.transactional_id_pattern", 1, 1)
    state_filters = message.state_filters
    write_compact_array_length(out, len(state_filters))
    write_compact_strings(out, state_filters)
    producer_id_filters = message.producer_id_filters
    write_compact_array_length(out, len(producer_id_filters))
    write_int64s(out, producer_id_filters)
    out += _PACKED_q.pack(message.duration_filter)
    out.append(0)


def _read_list_transactions_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[ListTransactionsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    state_filters, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 8)
    budget.take(count)
    producer_id_filters, pos = read_int64s(buf, pos, count)
    duration_filter = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    transactional_id_pattern, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ListTransactionsRequest(
        state_filters=state_filters,
        producer_id_filters=producer_id_filters,
        duration_filter=duration_filter,
        transactional_id_pattern=transactional_id_pattern,
    )
    return value, pos


def _write_list_transactions_request_v2(out: bytearray, message: ListTransactionsRequest) -> None:
    state_filters = message.state_filters
    write_compact_array_length(out, len(state_filters))
    write_compact_strings(out, state_filters)
    producer_id_filters = message.producer_id_filters
    write_compact_array_length(out, len(producer_id_filters))
    write_int64s(out, producer_id_filters)
    out += _PACKED_q.pack(message.duration_filter)
    write_compact_nullable_string(out, message.transactional_id_pattern)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ListTransactionsRequest, int]], ...]] = (
    _read_list_transactions_request_v0,
    _read_list_transactions_request_v1,
    _read_list_transactions_request_v2,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ListTransactionsRequest], None], ...]] = (
    _write_list_transactions_request_v0,
    _write_list_transactions_request_v1,
    _write_list_transactions_request_v2,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ListTransactionsRequest:
    if not 0 <= version <= 2:
        raise unsupported_version("ListTransactionsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListTransactionsRequest is cut short") from error


def encode_request_into(out: bytearray, message: ListTransactionsRequest, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("ListTransactionsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListTransactionsRequest holds a value out of range: {error}") from error


def encode_request(message: ListTransactionsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_transaction_state_v0(buf: Buffer, pos: int) -> tuple[TransactionState, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    producer_id = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    transaction_state, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = TransactionState(
        transactional_id=transactional_id,
        producer_id=producer_id,
        transaction_state=transaction_state,
    )
    return value, pos


def _write_transaction_state_v0(out: bytearray, message: TransactionState) -> None:
    write_compact_string(out, message.transactional_id)
    out += _PACKED_q.pack(message.producer_id)
    write_compact_string(out, message.transaction_state)
    out.append(0)


def _read_list_transactions_response_v0(buf: Buffer, pos: int) -> tuple[ListTransactionsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 1)
    unknown_state_filters, pos = read_compact_strings(buf, pos, count)
    count, pos = read_compact_array_length(buf, pos, 11)
    transaction_states: list[TransactionState] = []
    for _ in range(count):
        transaction_states_item, pos = _read_transaction_state_v0(buf, pos)
        transaction_states.append(transaction_states_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ListTransactionsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        unknown_state_filters=unknown_state_filters,
        transaction_states=transaction_states,
    )
    return value, pos


def _write_list_transactions_response_v0(out: bytearray, message: ListTransactionsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    unknown_state_filters = message.unknown_state_filters
    write_compact_array_length(out, len(unknown_state_filters))
    write_compact_strings(out, unknown_state_filters)
    transaction_states = message.transaction_states
    write_compact_array_length(out, len(transaction_states))
    for transaction_states_item in transaction_states:
        _write_transaction_state_v0(out, transaction_states_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ListTransactionsResponse, int]], ...]] = (
    _read_list_transactions_response_v0,
    _read_list_transactions_response_v0,
    _read_list_transactions_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ListTransactionsResponse], None], ...]] = (
    _write_list_transactions_response_v0,
    _write_list_transactions_response_v0,
    _write_list_transactions_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ListTransactionsResponse:
    if not 0 <= version <= 2:
        raise unsupported_version("ListTransactionsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ListTransactionsResponse is cut short") from error


def encode_response_into(out: bytearray, message: ListTransactionsResponse, version: int) -> None:
    if not 0 <= version <= 2:
        raise unsupported_version("ListTransactionsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ListTransactionsResponse holds a value out of range: {error}") from error


def encode_response(message: ListTransactionsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
