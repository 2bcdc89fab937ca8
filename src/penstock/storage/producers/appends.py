"""Checks an append against the producers of a partition, and updates their state after it."""

import logging
from collections.abc import Sequence

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import NO_PRODUCER_ID, BatchHeader
from penstock.protocol.records.control import EndTxnMarker, decode_end_txn_marker
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records
from penstock.storage.errors import AppendRejected
from penstock.storage.files import Buffer
from penstock.storage.producers.state import Duplicate, ProducerStates, Refusal
from penstock.storage.producers.transaction_permit import TransactionPermit
from penstock.storage.segment.transaction_index import AbortedTransaction
from penstock.storage.storable_batch import StorableBatch

_log = logging.getLogger(__name__)


def marker_in(header: BatchHeader, batch: Buffer) -> EndTxnMarker | None:
    """The transaction marker that a control batch holds; None for other control records."""
    if not (header.is_control and header.has_producer_id):
        return None
    markers = (decode_end_txn_marker(record.key, record.value) for record in iter_records(batch))
    return next((each for each in markers if each is not None), None)


def check_producers(
    producers: ProducerStates,
    batches: Sequence[StorableBatch],
    *,
    is_from_client: bool,
    permit: TransactionPermit | None = None,
) -> Duplicate | None:
    """Ask whether the batches may be appended. Raises `AppendRejected`; returns the original of a retry.

    Transactional batches need a valid permit.
    """
    for batch in batches:
        header = batch.header
        if header.producer_id == NO_PRODUCER_ID:
            continue
        if producers.unverified_from is not None:
            raise AppendRejected(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"a batch from offset {producers.unverified_from} is damaged, so the state of producers is unknown: "
                "retry after the repair",
            )
        if header.is_control:
            judgement: Duplicate | Refusal | None = _check_control(producers, batch)
        else:
            judgement = producers.check(header, is_from_client=is_from_client)
            if header.is_transactional and not isinstance(judgement, Duplicate):
                _require_permit(producers, header, permit)
        if judgement is None:
            continue
        if isinstance(judgement, Refusal):
            raise AppendRejected(judgement.code, judgement.message)
        if len(batches) == 1:
            return judgement
        raise AppendRejected(
            ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
            f"one of {len(batches)} batches is in the log already, at offset {judgement.first_offset}",
        )
    return None


def _require_permit(producers: ProducerStates, header: BatchHeader, permit: TransactionPermit | None) -> None:
    if permit is None or not permit.is_valid(producers):
        raise AppendRejected(
            ErrorCode.INVALID_TXN_STATE,
            f"The transaction of producer {header.producer_id} in epoch {header.producer_epoch} has ended in this "
            "partition, or its coordinator has not confirmed it: abort it and begin another",
        )


def _check_control(producers: ProducerStates, batch: StorableBatch) -> Refusal | None:
    try:
        marker = batch.marker = marker_in(batch.header, batch.data)
    except CorruptRecords as error:
        raise AppendRejected(ErrorCode.INVALID_RECORD, str(error)) from None
    if marker is None:
        return None
    header = batch.header
    return producers.check_marker(header.producer_id, header.producer_epoch, marker.coordinator_epoch)


def note_stored(producers: ProducerStates, batch: StorableBatch) -> AbortedTransaction | None:
    """Update the producers with a stored batch. Returns the transaction that it aborted, if any."""
    header = batch.header
    if not header.is_control:
        producers.update(header, batch.base_offset, batch.max_timestamp)
        return None
    marker = batch.marker or marker_or_none(header, batch.data)
    if marker is None:
        return None
    completed = producers.end_transaction(
        header.producer_id,
        header.producer_epoch,
        marker,
        offset=batch.base_offset,
        timestamp=batch.max_timestamp,
    )
    return AbortedTransaction.of(completed) if completed is not None and completed.is_aborted else None


def marker_or_none(header: BatchHeader, batch: Buffer) -> EndTxnMarker | None:
    """A stored marker cannot be refused any more: a malformed one ends nothing."""
    try:
        return marker_in(header, batch)
    except CorruptRecords as error:
        _log.error("Ignored a malformed control batch at offset %d: %s", header.base_offset, error)
        return None
