"""Records of `__transaction_state`, framed as `protocol.coordinator_records` describes, all of type 0.

Version 1 of the value is flexible: it has the fields of transaction version 2, and is written once the cluster has
`transaction.version` at 1 or more.
"""

from penstock.protocol.coordinator_records import RecordCodec
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import transaction_log_record
from penstock.protocol.messages.transaction_log_record import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from penstock.protocol.records.builder import NewRecord
from penstock.transactions.state import NO_PRODUCER_ID, TopicPartition, Transaction, by_topic
from penstock.transactions.states import State

_CODEC = RecordCodec([transaction_log_record])


def transaction_record(transaction: Transaction, *, is_flexible: bool) -> NewRecord:
    partitions = [
        PartitionsSchema(topic=name, partition_ids=numbers)
        for name, numbers in by_topic(transaction.partitions).items()
    ]
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id if is_flexible else NO_PRODUCER_ID,
        next_producer_id=transaction.next_producer_id if is_flexible else NO_PRODUCER_ID,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if transaction.state is State.EMPTY else partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.client_version if is_flexible else 0,
    )
    key = TransactionLogKey(transactional_id=transaction.transactional_id)
    return _CODEC.encode((key, value), transaction.updated_ms, 1 if is_flexible else 0)


def tombstone(transactional_id: str, now_ms: int) -> NewRecord:
    return _CODEC.encode((TransactionLogKey(transactional_id=transactional_id), None), now_ms)


def decode(key: bytes, value: bytes | None) -> tuple[str, Transaction | None] | None:
    """Return the transactional id and its state; None for an unknown record type. Raises `ProtocolError`."""
    record = _CODEC.decode(key, value)
    if record is None:
        return None
    transactional_id = record[0].transactional_id
    return transactional_id, None if record[1] is None else _transaction(transactional_id, record[1])


def _transaction(transactional_id: str, stored: TransactionLogValue) -> Transaction:
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
