"""Checks transactions: consumers of committed records see all of a committed transaction and nothing of others.

Producers report the records they wrote and how they ended each transaction. Consumers of committed records and of
committed offsets show how it was decided: by the records that they receive, and by those that they do not receive
although they lie below the last stable offset. All of them must see the same decision. Records may be deleted; then the
rest of their transaction counts.

A replaced group coordinator need not know the offsets that the new one has stored (`coordinators.py`).
"""

from collections import Counter
from collections.abc import Mapping
from enum import Enum, auto

from penstock_simulation.cluster.checkers.checker import Checker
from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms
from penstock_simulation.cluster.values import PartitionName, Records
from penstock_simulation.violation import ViolationLog


class Outcome(Enum):
    OPEN = auto()
    """No commit was requested: the transaction is not committed, and may be aborted."""
    ABORTED = auto()
    ENDING = auto()
    """A commit was requested and not answered: the transaction may be committed or aborted."""
    COMMITTED = auto()


class TransactionChecker(Checker):
    """Identifies transactions by name and records by partition and value."""

    def __init__(self, violations: ViolationLog, coordinators: CoordinatorTerms) -> None:
        super().__init__(violations)
        self._coordinators = coordinators
        self._outcomes: dict[bytes, Outcome] = {}
        self._seen_as_committed: dict[bytes, bool] = {}
        """Whether consumers saw transactions as committed."""
        self._transactions: dict[tuple[PartitionName, bytes], bytes] = {}
        self._offsets: dict[tuple[PartitionName, bytes], int] = {}
        self._values: dict[PartitionName, dict[int, bytes]] = {}
        self._read: set[tuple[PartitionName, bytes]] = set()
        self._read_until: dict[PartitionName, int] = {}
        self._deleted: dict[PartitionName, int] = {}
        self._group_commits: dict[str, dict[int, bytes]] = {}
        self._stored_epochs: dict[bytes, int] = {}
        """The epoch in which a group coordinator stored the offsets of a transaction."""

    def committed_count(self) -> int:
        return sum(each is Outcome.COMMITTED for each in self._outcomes.values())

    def aborted_count(self) -> int:
        return sum(each is Outcome.ABORTED for each in self._outcomes.values())

    def offset_commit_count(self) -> int:
        return sum(
            each in self._stored_epochs and self._outcomes[each] is Outcome.COMMITTED
            for commits in self._group_commits.values()
            for each in commits.values()
        )

    # -- producers ------------------------------------------------------------------------------------

    def on_begin(self, transaction: bytes) -> None:
        self._outcomes.setdefault(transaction, Outcome.OPEN)

    def on_send(self, transaction: bytes, partition: PartitionName, value: bytes) -> None:
        self.on_begin(transaction)
        self._transactions[partition, value] = transaction

    def on_stored(self, partition: PartitionName, value: bytes, offset: int) -> None:
        """A record was acknowledged."""
        self._offsets[partition, value] = offset
        self._values.setdefault(partition, {})[offset] = value
        is_passed = self._deleted.get(partition, 0) <= offset < self._read_until.get(partition, 0)
        if is_passed and (partition, value) not in self._read:
            self._on_omitted(partition, value)

    def on_offsets_sent(self, transaction: bytes, group: str, number: int) -> None:
        """If the transaction is committed, all partitions of the group get this offset."""
        self._group_commits.setdefault(group, {})[number] = transaction

    def on_offsets_stored(self, transaction: bytes, coordinator: str) -> None:
        self._stored_epochs[transaction] = self._coordinators.latest_epoch(coordinator)

    def on_outcome(self, transaction: bytes, outcome: Outcome) -> None:
        self._outcomes[transaction] = outcome
        if outcome is Outcome.COMMITTED and self._seen_as_committed.get(transaction) is False:
            detail = f"{transaction!r} is committed, but a consumer saw it as aborted"
            self._violations.report("committed transaction", detail)

    def on_delete_sent(self, partition: PartitionName, offset: int) -> None:
        """A client is about to delete all records before an offset."""
        self._deleted[partition] = max(offset, self._deleted.get(partition, 0))

    # -- consumers ------------------------------------------------------------------------------------

    def committed_offsets(self, partition: PartitionName) -> list[int]:
        """Return the offsets of records in committed transactions."""
        return [
            offset
            for (name, value), offset in self._offsets.items()
            if name == partition and self._outcomes[self._transactions[name, value]] is Outcome.COMMITTED
        ]

    def on_read(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """Check a record that a consumer of committed records received."""
        transaction = self._transactions.get((partition, value))
        if transaction is None:
            self._fail("no aborted read", partition, f"{value!r} was read, but no producer sent it")
            return
        self._read.add((partition, value))
        self._on_decision(transaction, f"{value!r} was read", is_commit=True)
        stored = self._offsets.get((partition, value), offset)
        if stored != offset:
            detail = f"{value!r} was read at offset {offset}, but was stored at {stored}"
            self._fail("read", partition, detail)

    def on_range_read(self, partition: PartitionName, begin: int, end: int, records: Records) -> None:
        """Check all records that a consumer of committed records received between two offsets."""
        self._read_until[partition] = max(end, self._read_until.get(partition, 0))
        stored = self._values.get(partition, {})
        received = {offset for offset, _ in records}
        for offset in range(begin, end):
            if offset in stored and offset not in received:
                self._on_omitted(partition, stored[offset])

    def on_bounds(self, partition: PartitionName, start: int, stable: int, high_watermark: int) -> None:
        """Check the log start offset, last stable offset and high watermark of an answer."""
        if not start <= stable <= high_watermark:
            detail = f"it is {stable}, the log starts at {start} and the high watermark is {high_watermark}"
            self._fail("last stable offset", partition, detail)

    def on_out_of_range(self, partition: PartitionName, offset: int, start: int) -> None:
        """A consumer was sent to the last stable offset, and was refused there."""
        self._fail("last stable offset", partition, f"it is {offset}, and the log starts at {start}")

    def on_offsets_fetched(
        self, group: str, found: Mapping[PartitionName, int], asked_s: float, coordinator: str
    ) -> None:
        """Check a group's committed offsets while no transaction is about to change them; -1 is none.

        Each transaction of a group commits the same offset for all partitions, higher than the one before.
        """
        commits = self._group_commits.get(group, {})
        numbers = set(found.values())
        if len(numbers) > 1:
            detail = f"{group!r} has only some offsets of a transaction: {dict(found)}"
            self._violations.report("partial offsets", detail)
            return
        number = numbers.pop()
        if number in commits:
            self._on_decision(commits[number], f"{group!r} has its offsets", is_commit=True)
        elif number >= 0:
            detail = f"{group!r} has offset {number}, which no transaction committed"
            self._violations.report("no aborted read", detail)
        epoch = self._coordinators.earliest_epoch(coordinator, asked_s)
        for later, transaction in commits.items():
            if later > number and self._stored_epochs.get(transaction, epoch + 1) <= epoch:
                self._on_decision(transaction, f"{group!r} lacks its offsets", is_commit=False)

    def _on_omitted(self, partition: PartitionName, value: bytes) -> None:
        self._on_decision(self._transactions[partition, value], f"{value!r} was not read", is_commit=False)

    def _on_decision(self, transaction: bytes, reason: str, *, is_commit: bool) -> None:
        """Check a decision that a consumer saw."""
        outcome = self._outcomes[transaction]
        if is_commit and outcome in (Outcome.ABORTED, Outcome.OPEN):
            self._violations.report("no aborted read", f"{transaction!r} is {outcome.name}, but {reason}")
        elif not is_commit and outcome is Outcome.COMMITTED:
            self._violations.report("committed transaction", f"{transaction!r} is committed, but {reason}")
        elif self._seen_as_committed.setdefault(transaction, is_commit) != is_commit:
            detail = f"{transaction!r} is seen as committed and as aborted: {reason}"
            self._violations.report("atomic", detail)

    def check_logs(self, found: Mapping[PartitionName, Records], starts: Mapping[PartitionName, int]) -> None:
        """Check all committed records of each partition at the end of a run, given the log start offsets."""
        seen: Counter[bytes] = Counter()
        for partition, records in found.items():
            if starts.get(partition, 0) > self._deleted.get(partition, 0):
                detail = f"records before offset {starts[partition]} were deleted without a request"
                self._fail("log start", partition, detail)
            values = [value for _, value in records]
            if len(set(values)) != len(values):
                self._fail("duplicates", partition, "a record of a transaction is stored twice")
            for offset, value in records:
                self.on_read(partition, offset, value)
                if (transaction := self._transactions.get((partition, value))) is not None:
                    seen[transaction] += 1
        sent = Counter(
            transaction
            for (partition, value), transaction in self._transactions.items()
            if self._offsets.get((partition, value), starts.get(partition, 0)) >= starts.get(partition, 0)
        )
        for transaction, count in sent.items():
            outcome = self._outcomes[transaction]
            detail = f"{transaction!r}: {seen[transaction]} of {count} records are stored"
            if outcome is Outcome.COMMITTED and seen[transaction] != count:
                self._violations.report("committed transaction", detail)
            elif outcome is Outcome.ENDING and seen[transaction] not in (0, count):
                self._violations.report("atomic", detail)
