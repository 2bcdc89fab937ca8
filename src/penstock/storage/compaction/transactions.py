"""Transactions during compaction: whose records were aborted, and which markers are still needed.

A marker may go only after every record of its transaction is gone, and then waits out `delete.retention.ms` like
a tombstone. Records of aborted transactions go at once. Which transactions were aborted is known from the
transaction index. An abort marker whose transaction the index does not know is kept as long as records of its
producer stand before it: dropping it would turn them into committed ones.
"""

from collections.abc import Iterable

from penstock.protocol.records.batch import BatchHeader
from penstock.protocol.records.control import ControlType
from penstock.storage.segment.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Fed with every batch in offset order."""

    __slots__ = ("_aborted", "_ongoing_aborted", "_ongoing_committed", "_seen", "kept")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted = sorted(aborted, key=lambda txn: txn.first_offset, reverse=True)
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}
        self._seen: set[int] = set()
        """Producers of ongoing aborted transactions of which a batch was seen."""
        self._ongoing_committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []
        """Aborted transactions whose marker stays: what the new segment's transaction index must hold."""

    def is_aborted_data(self, header: BatchHeader) -> bool:
        """Whether this data batch belongs to an aborted transaction, so that its records can go."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._ongoing_aborted:
            self._seen.add(header.producer_id)
            return True
        self._ongoing_committed.add(header.producer_id)
        return False

    def can_drop_marker(self, header: BatchHeader, kind: ControlType | None) -> bool:
        """Whether nothing of the transaction that this control batch ends is left. `kind` None: it is empty."""
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
