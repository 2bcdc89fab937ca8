"""Finds batches of aborted transactions, which a group that reads committed records must not see."""

from collections.abc import Iterable

from penstock.protocol.records.batch import BatchHeader
from penstock.share.partition.values import OffsetRange
from penstock.storage.segment.transaction_index import AbortedTransaction


def aborted_ranges(
    headers: Iterable[BatchHeader], aborted: Iterable[AbortedTransaction]
) -> list[OffsetRange]:
    """Return the aborted ones of these batches, without markers: consumers acknowledge those as gaps."""
    by_producer: dict[int, list[AbortedTransaction]] = {}
    for transaction in aborted:
        by_producer.setdefault(transaction.producer_id, []).append(transaction)
    return [
        OffsetRange(header.base_offset, header.last_offset)
        for header in headers
        if header.producer_id in by_producer
        and header.is_transactional
        and not header.is_control
        and any(
            each.first_offset <= header.base_offset <= each.last_offset
            for each in by_producer[header.producer_id]
        )
    ]
