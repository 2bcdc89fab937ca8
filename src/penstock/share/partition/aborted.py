"""Which of the batches read belong to aborted transactions: a group that reads committed records must not see them."""

from collections.abc import Iterable

from penstock.protocol.records.batch import BatchHeader
from penstock.share.partition.values import OffsetRange
from penstock.storage.transaction_index import AbortedTransaction


def aborted_ranges(
    headers: Iterable[BatchHeader], aborted: Iterable[AbortedTransaction]
) -> list[OffsetRange]:
    """Of these batches those that were aborted. Markers are not among them: consumers acknowledge them as gaps."""
    ranges = sorted((t.producer_id, t.first_offset, t.last_offset) for t in aborted)
    if not ranges:
        return []
    return [
        OffsetRange(header.base_offset, header.last_offset)
        for header in headers
        if header.is_transactional
        and not header.is_control
        and any(
            producer_id == header.producer_id and first <= header.base_offset <= last
            for producer_id, first, last in ranges
        )
    ]
