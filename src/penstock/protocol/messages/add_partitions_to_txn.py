"""AddPartitionsToTxnRequest and AddPartitionsToTxnResponse.

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
    read_int32s,
    read_string,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
    write_string,
)

API_KEY: Final = 24
VERSIONS: Final = range(0, 6)
FLEXIBLE_FROM: Final = 3

_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_qh: Final = struct.Struct(">qh")
_PACKED_qho: Final = struct.Struct(">qh?")


class AddPartitionsToTxnTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    partitions: list[int] = []


class AddPartitionsToTxnTransaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    verify_only: bool = False
    topics: list[AddPartitionsToTxnTopic] = []


class AddPartitionsToTxnRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactions: list[AddPartitionsToTxnTransaction] = []
    v3_and_below_transactional_id: str = ""
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []


class AddPartitionsToTxnPartitionResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    partition_error_code: int = 0


class AddPartitionsToTxnTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []


class AddPartitionsToTxnResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = []


class AddPartitionsToTxnResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResult] = []
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []


def _read_add_partitions_to_txn_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AddPartitionsToTxnTopic, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    return AddPartitionsToTxnTopic(name=name, partitions=partitions), pos


def _write_add_partitions_to_txn_topic_v0(out: bytearray, message: AddPartitionsToTxnTopic) -> None:
    write_string(out, message.name)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    write_int32s(out, partitions)


def _read_add_partitions_to_txn_topic_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[AddPartitionsToTxnTopic, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AddPartitionsToTxnTopic(name=name, partitions=partitions), pos


def _write_add_partitions_to_txn_topic_v3(out: bytearray, message: AddPartitionsToTxnTopic) -> None:
    write_compact_string(out, message.name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_add_partitions_to_txn_transaction_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[AddPartitionsToTxnTransaction, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    producer_id, producer_epoch, verify_only = _PACKED_qho.unpack_from(buf, pos)
    pos += 11
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topics: list[AddPartitionsToTxnTopic] = []
    for _ in range(count):
        topics_item, pos = _read_add_partitions_to_txn_topic_v3(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AddPartitionsToTxnTransaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        verify_only=verify_only,
        topics=topics,
    )
    return value, pos


def _write_add_partitions_to_txn_transaction_v4(out: bytearray, message: AddPartitionsToTxnTransaction) -> None:
    write_compact_string(out, message.transactional_id)
    out += _PACKED_qho.pack(message.producer_id, message.producer_epoch, message.verify_only)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_add_partitions_to_txn_topic_v3(out, topics_item)
    out.append(0)


def _read_add_partitions_to_txn_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AddPartitionsToTxnRequest, int]:
    v3_and_below_transactional_id, pos = read_string(buf, pos)
    v3_and_below_producer_id, v3_and_below_producer_epoch = _PACKED_qh.unpack_from(buf, pos)
    pos += 10
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
    for _ in range(count):
        v3_and_below_topics_item, pos = _read_add_partitions_to_txn_topic_v0(buf, pos, budget)
        v3_and_below_topics.append(v3_and_below_topics_item)
    value = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=v3_and_below_transactional_id,
        v3_and_below_producer_id=v3_and_below_producer_id,
        v3_and_below_producer_epoch=v3_and_below_producer_epoch,
        v3_and_below_topics=v3_and_below_topics,
    )
    return value, pos


def _write_add_partitions_to_txn_request_v0(out: bytearray, message: AddPartitionsToTxnRequest) -> None:
    if message.transactions != []:
        raise unsupported_field("AddPartitionsToTxnRequest.transactions", 0, 2)
    write_string(out, message.v3_and_below_transactional_id)
    out += _PACKED_qh.pack(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
    v3_and_below_topics = message.v3_and_below_topics
    write_array_length(out, len(v3_and_below_topics))
    for v3_and_below_topics_item in v3_and_below_topics:
        _write_add_partitions_to_txn_topic_v0(out, v3_and_below_topics_item)


def _read_add_partitions_to_txn_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[AddPartitionsToTxnRequest, int]:
    v3_and_below_transactional_id, pos = read_compact_string(buf, pos)
    v3_and_below_producer_id, v3_and_below_producer_epoch = _PACKED_qh.unpack_from(buf, pos)
    pos += 10
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = []
    for _ in range(count):
        v3_and_below_topics_item, pos = _read_add_partitions_to_txn_topic_v3(buf, pos, budget)
        v3_and_below_topics.append(v3_and_below_topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=v3_and_below_transactional_id,
        v3_and_below_producer_id=v3_and_below_producer_id,
        v3_and_below_producer_epoch=v3_and_below_producer_epoch,
        v3_and_below_topics=v3_and_below_topics,
    )
    return value, pos


def _write_add_partitions_to_txn_request_v3(out: bytearray, message: AddPartitionsToTxnRequest) -> None:
    if message.transactions != []:
        raise unsupported_field("AddPartitionsToTxnRequest.transactions", 3, 3)
    write_compact_string(out, message.v3_and_below_transactional_id)
    out += _PACKED_qh.pack(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
    v3_and_below_topics = message.v3_and_below_topics
    write_compact_array_length(out, len(v3_and_below_topics))
    for v3_and_below_topics_item in v3_and_below_topics:
        _write_add_partitions_to_txn_topic_v3(out, v3_and_below_topics_item)
    out.append(0)


def _read_add_partitions_to_txn_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[AddPartitionsToTxnRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 14)
    budget.take(count)
    transactions: list[AddPartitionsToTxnTransaction] = []
    for _ in range(count):
        transactions_item, pos = _read_add_partitions_to_txn_transaction_v4(buf, pos, budget)
        transactions.append(transactions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AddPartitionsToTxnRequest(transactions=transactions), pos


def _write_add_partitions_to_txn_request_v4(out: bytearray, message: AddPartitionsToTxnRequest) -> None:
    if message.v3_and_below_transactional_id != "":
        raise unsupported_field("AddPartitionsToTxnRequest.v3_and_below_transactional_id", 4, 5)
    if message.v3_and_below_producer_id != 0:
        raise unsupported_field("AddPartitionsToTxnRequest.v3_and_below_producer_id", 4, 5)
    if message.v3_and_below_producer_epoch != 0:
        raise unsupported_field("AddPartitionsToTxnRequest.v3_and_below_producer_epoch", 4, 5)
    if message.v3_and_below_topics != []:
        raise unsupported_field("AddPartitionsToTxnRequest.v3_and_below_topics", 4, 5)
    transactions = message.transactions
    write_compact_array_length(out, len(transactions))
    for transactions_item in transactions:
        _write_add_partitions_to_txn_transaction_v4(out, transactions_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AddPartitionsToTxnRequest, int]], ...]] = (
    _read_add_partitions_to_txn_request_v0,
    _read_add_partitions_to_txn_request_v0,
    _read_add_partitions_to_txn_request_v0,
    _read_add_partitions_to_txn_request_v3,
    _read_add_partitions_to_txn_request_v4,
    _read_add_partitions_to_txn_request_v4,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AddPartitionsToTxnRequest], None], ...]] = (
    _write_add_partitions_to_txn_request_v0,
    _write_add_partitions_to_txn_request_v0,
    _write_add_partitions_to_txn_request_v0,
    _write_add_partitions_to_txn_request_v3,
    _write_add_partitions_to_txn_request_v4,
    _write_add_partitions_to_txn_request_v4,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AddPartitionsToTxnRequest:
    if not 0 <= version <= 5:
        raise unsupported_version("AddPartitionsToTxnRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AddPartitionsToTxnRequest is cut short") from error


def encode_request_into(out: bytearray, message: AddPartitionsToTxnRequest, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("AddPartitionsToTxnRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AddPartitionsToTxnRequest holds a value out of range: {error}") from error


def encode_request(message: AddPartitionsToTxnRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_add_partitions_to_txn_partition_result_v0(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnPartitionResult, int]:
    partition_index, partition_error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    value = AddPartitionsToTxnPartitionResult(
        partition_index=partition_index,
        partition_error_code=partition_error_code,
    )
    return value, pos


def _write_add_partitions_to_txn_partition_result_v0(out: bytearray, message: AddPartitionsToTxnPartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.partition_error_code)


def _read_add_partitions_to_txn_partition_result_v3(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnPartitionResult, int]:
    partition_index, partition_error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AddPartitionsToTxnPartitionResult(
        partition_index=partition_index,
        partition_error_code=partition_error_code,
    )
    return value, pos


def _write_add_partitions_to_txn_partition_result_v3(out: bytearray, message: AddPartitionsToTxnPartitionResult) -> None:
    out += _PACKED_ih.pack(message.partition_index, message.partition_error_code)
    out.append(0)


def _read_add_partitions_to_txn_topic_result_v0(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnTopicResult, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(count):
        results_by_partition_item, pos = _read_add_partitions_to_txn_partition_result_v0(buf, pos)
        results_by_partition.append(results_by_partition_item)
    return AddPartitionsToTxnTopicResult(name=name, results_by_partition=results_by_partition), pos


def _write_add_partitions_to_txn_topic_result_v0(out: bytearray, message: AddPartitionsToTxnTopicResult) -> None:
    write_string(out, message.name)
    results_by_partition = message.results_by_partition
    write_array_length(out, len(results_by_partition))
    for results_by_partition_item in results_by_partition:
        _write_add_partitions_to_txn_partition_result_v0(out, results_by_partition_item)


def _read_add_partitions_to_txn_topic_result_v3(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 7)
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(count):
        results_by_partition_item, pos = _read_add_partitions_to_txn_partition_result_v3(buf, pos)
        results_by_partition.append(results_by_partition_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AddPartitionsToTxnTopicResult(name=name, results_by_partition=results_by_partition), pos


def _write_add_partitions_to_txn_topic_result_v3(out: bytearray, message: AddPartitionsToTxnTopicResult) -> None:
    write_compact_string(out, message.name)
    results_by_partition = message.results_by_partition
    write_compact_array_length(out, len(results_by_partition))
    for results_by_partition_item in results_by_partition:
        _write_add_partitions_to_txn_partition_result_v3(out, results_by_partition_item)
    out.append(0)


def _read_add_partitions_to_txn_result_v4(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnResult, int]:
    transactional_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    topic_results: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(count):
        topic_results_item, pos = _read_add_partitions_to_txn_topic_result_v3(buf, pos)
        topic_results.append(topic_results_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return AddPartitionsToTxnResult(transactional_id=transactional_id, topic_results=topic_results), pos


def _write_add_partitions_to_txn_result_v4(out: bytearray, message: AddPartitionsToTxnResult) -> None:
    write_compact_string(out, message.transactional_id)
    topic_results = message.topic_results
    write_compact_array_length(out, len(topic_results))
    for topic_results_item in topic_results:
        _write_add_partitions_to_txn_topic_result_v3(out, topic_results_item)
    out.append(0)


def _read_add_partitions_to_txn_response_v0(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(count):
        results_by_topic_v3_and_below_item, pos = _read_add_partitions_to_txn_topic_result_v0(buf, pos)
        results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
    value = AddPartitionsToTxnResponse(
        throttle_time_ms=throttle_time_ms,
        results_by_topic_v3_and_below=results_by_topic_v3_and_below,
    )
    return value, pos


def _write_add_partitions_to_txn_response_v0(out: bytearray, message: AddPartitionsToTxnResponse) -> None:
    if message.results_by_transaction != []:
        raise unsupported_field("AddPartitionsToTxnResponse.results_by_transaction", 0, 2)
    out += _PACKED_i.pack(message.throttle_time_ms)
    results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
    write_array_length(out, len(results_by_topic_v3_and_below))
    for results_by_topic_v3_and_below_item in results_by_topic_v3_and_below:
        _write_add_partitions_to_txn_topic_result_v0(out, results_by_topic_v3_and_below_item)


def _read_add_partitions_to_txn_response_v3(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(count):
        results_by_topic_v3_and_below_item, pos = _read_add_partitions_to_txn_topic_result_v3(buf, pos)
        results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AddPartitionsToTxnResponse(
        throttle_time_ms=throttle_time_ms,
        results_by_topic_v3_and_below=results_by_topic_v3_and_below,
    )
    return value, pos


def _write_add_partitions_to_txn_response_v3(out: bytearray, message: AddPartitionsToTxnResponse) -> None:
    if message.results_by_transaction != []:
        raise unsupported_field("AddPartitionsToTxnResponse.results_by_transaction", 3, 3)
    out += _PACKED_i.pack(message.throttle_time_ms)
    results_by_topic_v3_and_below = message.results_by_topic_v3_and_below
    write_compact_array_length(out, len(results_by_topic_v3_and_below))
    for results_by_topic_v3_and_below_item in results_by_topic_v3_and_below:
        _write_add_partitions_to_txn_topic_result_v3(out, results_by_topic_v3_and_below_item)
    out.append(0)


def _read_add_partitions_to_txn_response_v4(buf: Buffer, pos: int) -> tuple[AddPartitionsToTxnResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    results_by_transaction: list[AddPartitionsToTxnResult] = []
    for _ in range(count):
        results_by_transaction_item, pos = _read_add_partitions_to_txn_result_v4(buf, pos)
        results_by_transaction.append(results_by_transaction_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AddPartitionsToTxnResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        results_by_transaction=results_by_transaction,
    )
    return value, pos


def _write_add_partitions_to_txn_response_v4(out: bytearray, message: AddPartitionsToTxnResponse) -> None:
    if message.results_by_topic_v3_and_below != []:
        raise unsupported_field("AddPartitionsToTxnResponse.results_by_topic_v3_and_below", 4, 5)
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    results_by_transaction = message.results_by_transaction
    write_compact_array_length(out, len(results_by_transaction))
    for results_by_transaction_item in results_by_transaction:
        _write_add_partitions_to_txn_result_v4(out, results_by_transaction_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AddPartitionsToTxnResponse, int]], ...]] = (
    _read_add_partitions_to_txn_response_v0,
    _read_add_partitions_to_txn_response_v0,
    _read_add_partitions_to_txn_response_v0,
    _read_add_partitions_to_txn_response_v3,
    _read_add_partitions_to_txn_response_v4,
    _read_add_partitions_to_txn_response_v4,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AddPartitionsToTxnResponse], None], ...]] = (
    _write_add_partitions_to_txn_response_v0,
    _write_add_partitions_to_txn_response_v0,
    _write_add_partitions_to_txn_response_v0,
    _write_add_partitions_to_txn_response_v3,
    _write_add_partitions_to_txn_response_v4,
    _write_add_partitions_to_txn_response_v4,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AddPartitionsToTxnResponse:
    if not 0 <= version <= 5:
        raise unsupported_version("AddPartitionsToTxnResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AddPartitionsToTxnResponse is cut short") from error


def encode_response_into(out: bytearray, message: AddPartitionsToTxnResponse, version: int) -> None:
    if not 0 <= version <= 5:
        raise unsupported_version("AddPartitionsToTxnResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AddPartitionsToTxnResponse holds a value out of range: {error}") from error


def encode_response(message: AddPartitionsToTxnResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
