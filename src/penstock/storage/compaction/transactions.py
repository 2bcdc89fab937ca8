"""Transactions during compaction: which records were aborted, and which markers are still needed.

A marker may be dropped only after every record of its transaction is gone, and is then kept for another
`delete.retention.ms` like a tombstone. Records of aborted transactions are dropped at once. The transaction index lists
the aborted transactions. An abort marker whose transaction is not in the index is kept while there are records of its
producer before it: dropping the marker would make them appear committed.
"""

from collections.abc import Iterable

from penstock.protocol.records.batch import BatchHeader
from penstock.protocol.records.control import ControlType
from penstock.storage.segment.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Receives every batch, in offset order."""

    __slots__ = ("_aborted", "_ongoing_aborted", "_ongoing_committed", "_seen", "kept")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted = sorted(aborted, key=lambda txn: txn.first_offset, reverse=True)
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}
        self._seen: set[int] = set()
        """Producers of ongoing aborted transactions of which a batch was seen."""
        self._ongoing_committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []
        """Aborted transactions whose markers are kept: the content of the new segment's transaction index."""

    def is_aborted_data(self, header: BatchHeader) -> bool:
        """Whether this data batch belongs to an aborted transaction, so that its records can be dropped."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._ongoing_aborted:
            self._seen.add(header.producer_id)
            return True
        self._ongoing_committed.add(header.producer_id)
        return False

    def can_drop_marker(self, header: BatchHeader, kind: ControlType | None) -> bool:
        """Whether no record is left of the transaction that this control batch ends. `kind` None: it is empty."""
        self._begin_up_to(header.last_offset)
        producer_id = header.producer_id
        if kind is None:
            return True
        if kind is ControlType.COMMIT:
            had_records = producer_id in self._ongoing_committed
            self._ongoing_committed.discard(producer_id)
            return not had_records
        if kind is not ControlType.ABORT:
            return False
        aborted = self._ongoing_aborted.pop(producer_id, None)
        if aborted is not None and producer_id in self._seen:
            self._seen.discard(producer_id)
            self.kept.append(aborted)
            return False
        had_unknown_records = producer_id in self._ongoing_committed
        self._ongoing_committed.discard(producer_id)
        return not had_unknown_records

    def _begin_up_to(self, offset: int) -> None:
        while self._aborted and self._aborted[-1].first_offset <= offset:
            aborted = self._aborted.pop()
            self._ongoing_aborted.setdefault(aborted.producer_id, aborted)
