"""Records of `__transaction_state` in Kafka's format.

    key    i16 record type 0, then TransactionLogKey, version 0
    value  i16 version, then TransactionLogValue; null deletes the transactional id

Version 1 of the value is flexible: it has the fields of transaction version 2, and is written once the cluster has
`transaction.version` at 1 or more.
"""

import struct

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import transaction_log_record
from penstock.protocol.messages.transaction_log_record import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from penstock.protocol.records.builder import NewRecord
from penstock.transactions.state import NO_PRODUCER_ID, TopicPartition, Transaction
from penstock.transactions.states import State

_VERSION = struct.Struct(">h")
_TYPE = _VERSION.pack(transaction_log_record.RECORD_TYPE)


def transaction_record(transaction: Transaction, *, is_flexible: bool) -> NewRecord:
    version = 1 if is_flexible else 0
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id if is_flexible else NO_PRODUCER_ID,
        next_producer_id=transaction.next_producer_id if is_flexible else NO_PRODUCER_ID,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is State.EMPTY else _by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.client_version if is_flexible else 0,
    )
    encoded = _VERSION.pack(version) + transaction_log_record.encode_value(value, version)
    return NewRecord(_key(transaction.transactional_id), encoded, (), transaction.updated_ms)


def tombstone(transactional_id: str, now_ms: int) -> NewRecord:
    return NewRecord(_key(transactional_id), None, (), now_ms)


def _key(transactional_id: str) -> bytes:
    return _TYPE + transaction_log_record.encode_key(TransactionLogKey(transactional_id=transactional_id), 0)


def _by_topic(transaction: Transaction) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=name, partition_ids=numbers) for name, numbers in topics.items()]


def decode_key(key: bytes) -> str | None:
    """Return the transactional id; None for an unknown record type. Raises `ProtocolError`."""
    if key[: _VERSION.size] != _TYPE:
        return None
    return transaction_log_record.decode_key(key, 0, _VERSION.size).transactional_id


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    """Raises `ProtocolError`."""
    version = int.from_bytes(value[: _VERSION.size], "big", signed=True)
    stored = transaction_log_record.decode_value(value, version, _VERSION.size)
    try:
        state = State(stored.transaction_status)
    except ValueError:
        raise ProtocolError(f"{transactional_id} has the unknown state {stored.transaction_status}") from None
    return Transaction(
        transactional_id=transactional_id,
        producer_id=stored.producer_id,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        producer_epoch=stored.producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(topic.topic, number)
            for topic in stored.transaction_partitions or ()
            for number in topic.partition_ids
        ),
        started_ms=stored.transaction_start_timestamp_ms,
        updated_ms=stored.transaction_last_update_timestamp_ms,
        client_version=stored.client_transaction_version,
    )
