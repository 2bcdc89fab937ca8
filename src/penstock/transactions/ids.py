"""The transactional ids of one partition of `__transaction_state`."""

import asyncio
from collections.abc import Iterator

from penstock.cluster.coordination.loading import IsOpen
from penstock.protocol.records.record import Record
from penstock.transactions.records import decode
from penstock.transactions.state import Transaction

_LISTED_MAX = 20


class TransactionalIds:
    """Ahead of its log by the writes in `writing`: wait for the write of a transaction before relying on it."""

    __slots__ = ("_by_id", "writing")

    def __init__(self) -> None:
        self._by_id: dict[str, Transaction] = {}
        self.writing: dict[str, asyncio.Future[None]] = {}

    def __iter__(self) -> Iterator[Transaction]:
        return iter(list(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, transactional_id: str) -> Transaction | None:
        return self._by_id.get(transactional_id)

    def put(self, transaction: Transaction) -> None:
        self._by_id[transaction.transactional_id] = transaction

    def remove(self, transactional_id: str) -> None:
        self._by_id.pop(transactional_id, None)

    def replay(self, record: Record, producer_id: int) -> None:
        """Apply a stored record."""
        del producer_id  # this topic has no transactional records
        found = None if record.key is None else decode(record.key, record.value)
        if found is None:
            return
        transactional_id, transaction = found
        if transaction is None:
            self.remove(transactional_id)
        else:
            self.put(transaction)

    def skip_records(self, is_open: IsOpen) -> str:
        """Forget all ids that have no later record: their producers get a new producer id.

        A record has the whole state of its id. To continue from an older state could abort a committed transaction, or
        commit records of another one.
        """
        del is_open
        unfinished = [each.transactional_id for each in self if not each.state.is_idle]
        self._by_id.clear()
        listed = ", ".join(unfinished[:_LISTED_MAX]) + (", ..." if len(unfinished) > _LISTED_MAX else "")
        return (
            "Transactional ids without a later record are forgotten, and their open transactions are neither committed "
            f"nor aborted (open before: {listed or 'none'}). Restart their producers, and abort transactions that stay "
            "open with `penstock txn abort`; or restore the file from a backup and restart the broker."
        )

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Do nothing: this topic has no transactional records."""
