"""DescribeTransactionsRequest and DescribeTransactionsResponse.

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
    read_compact_string,
    read_compact_strings,
    read_int32s,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_compact_strings,
    write_int32s,
)

API_KEY: Final = 65
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_iqqh: Final = struct.Struct(">iqqh")


class DescribeTransactionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_ids: list[str] = []


class TopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[int] = []


class TransactionState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    error_code: int = 0
    transactional_id: str = ""
    transaction_state: str = ""
    transaction_timeout_ms: int = 0
    transaction_start_time_ms: int = 0
    producer_id: int = 0
    producer_epoch: int = 0
    topics: list[TopicData] = []


class DescribeTransactionsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    transaction_states: list[TransactionState] = []


def _read_describe_transactions_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DescribeTransactionsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    transactional_ids, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DescribeTransactionsRequest(transactional_ids=transactional_ids), pos


def _write_describe_transactions_request_v0(out: bytearray, message: DescribeTransactionsRequest) -> None:
    transactional_ids = message.transactional_ids
    write_compact_array_length(out, len(transactional_ids))
    write_compact_strings(out, transactional_ids)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DescribeTransactionsRequest, int]], ...]] = (
    _read_describe_transactions_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DescribeTransactionsRequest], None], ...]] = (
    _write_describe_transactions_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DescribeTransactionsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTransactionsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeTransactionsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DescribeTransactionsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTransactionsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeTransactionsRequest holds a value out of range: {error}") from error


def encode_request(message: DescribeTransactionsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_topic_data_v0(buf: Buffer, pos: int) -> tuple[TopicData, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicData(topic=topic, partitions=partitions), pos


def _write_topic_data_v0(out: bytearray, message: TopicData) -> None:
    write_compact_string(out, message.topic)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_transaction_state_v0(buf: Buffer, pos: int) -> tuple[TransactionState, int]:
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    transactional_id, pos = read_compact_string(buf, pos)
    transaction_state, pos = read_compact_string(buf, pos)
    transaction_timeout_ms, transaction_start_time_ms, producer_id, producer_epoch = _PACKED_iqqh.unpack_from(buf, pos)
    pos += 22
    count, pos = read_compact_array_length(buf, pos, 3)
    topics: list[TopicData] = []
    for _ in range(count):
        topics_item, pos = _read_topic_data_v0(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = TransactionState(
        error_code=error_code,
        transactional_id=transactional_id,
        transaction_state=transaction_state,
        transaction_timeout_ms=transaction_timeout_ms,
        transaction_start_time_ms=transaction_start_time_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=topics,
    )
    return value, pos


def _write_transaction_state_v0(out: bytearray, message: TransactionState) -> None:
    out += _PACKED_h.pack(message.error_code)
    write_compact_string(out, message.transactional_id)
    write_compact_string(out, message.transaction_state)
    out += _PACKED_iqqh.pack(message.transaction_timeout_ms, message.transaction_start_time_ms, message.producer_id, message.producer_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_topic_data_v0(out, topics_item)
    out.append(0)


def _read_describe_transactions_response_v0(buf: Buffer, pos: int) -> tuple[DescribeTransactionsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 28)
    transaction_states: list[TransactionState] = []
    for _ in range(count):
        transaction_states_item, pos = _read_transaction_state_v0(buf, pos)
        transaction_states.append(transaction_states_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DescribeTransactionsResponse(
        throttle_time_ms=throttle_time_ms,
        transaction_states=transaction_states,
    )
    return value, pos


def _write_describe_transactions_response_v0(out: bytearray, message: DescribeTransactionsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    transaction_states = message.transaction_states
    write_compact_array_length(out, len(transaction_states))
    for transaction_states_item in transaction_states:
        _write_transaction_state_v0(out, transaction_states_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DescribeTransactionsResponse, int]], ...]] = (
    _read_describe_transactions_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DescribeTransactionsResponse], None], ...]] = (
    _write_describe_transactions_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DescribeTransactionsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTransactionsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DescribeTransactionsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DescribeTransactionsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DescribeTransactionsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DescribeTransactionsResponse holds a value out of range: {error}") from error


def encode_response(message: DescribeTransactionsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
