"""What transactions promise: who reads committed records sees all of a committed transaction, and nothing of others.

A transaction is followed from its beginning. Its producer says what it wrote and how it ended it. Readers of committed
records and of committed offsets show how it was decided: by what they are given, and by what they are not given
although it lies below the last stable offset. All of them must see the same decision.

Records may be deleted. Then their transaction is judged by the rest.
"""

from collections.abc import Mapping
from enum import Enum, auto

from penstock.testing.simulation.cluster.checkers.records import Found, PartitionName
from penstock.testing.simulation.cluster.checkers.verdict import Verdict


class Outcome(Enum):
    OPEN = auto()
    """Nobody has asked to commit it: it is not committed, and may be aborted."""
    ABORTED = auto()
    ENDING = auto()
    """Its commit was asked for and not answered: one or the other."""
    COMMITTED = auto()


class TransactionChecker:
    """Transactions are known by a name; values by what stands in them."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self._outcomes: dict[bytes, Outcome] = {}
        self._decisions: dict[bytes, bool] = {}
        """Whether readers found transactions to be committed."""
        self._values: dict[tuple[PartitionName, bytes], bytes] = {}
        self._offsets: dict[tuple[PartitionName, bytes], int] = {}
        self._stored: dict[PartitionName, dict[int, bytes]] = {}
        """The same the other way round."""
        self._read: set[tuple[PartitionName, bytes]] = set()
        self._read_until: dict[PartitionName, int] = {}
        self._deleted: dict[PartitionName, int] = {}
        self._group_commits: dict[str, dict[int, bytes]] = {}
        self._kept: set[bytes] = set()

    def committed_count(self) -> int:
        return sum(each is Outcome.COMMITTED for each in self._outcomes.values())

    def aborted_count(self) -> int:
        return sum(each is Outcome.ABORTED for each in self._outcomes.values())

    def offset_commit_count(self) -> int:
        return sum(
            each in self._kept and self._outcomes[each] is Outcome.COMMITTED
            for commits in self._group_commits.values()
            for each in commits.values()
        )

    # -- what producers do ----------------------------------------------------------------------------

    def begins(self, transaction: bytes) -> None:
        self._outcomes.setdefault(transaction, Outcome.OPEN)

    def writes(self, transaction: bytes, partition: PartitionName, value: bytes) -> None:
        """A record is about to be sent."""
        self.begins(transaction)
        self._values[partition, value] = transaction

    def written(self, partition: PartitionName, value: bytes, offset: int) -> None:
        """It was acknowledged."""
        self._offsets[partition, value] = offset
        self._stored.setdefault(partition, {})[offset] = value
        is_passed = self._deleted.get(partition, 0) <= offset < self._read_until.get(partition, 0)
        if is_passed and (partition, value) not in self._read:
            self._is_decided(self._values[partition, value], f"{value!r} is left out", is_commit=False)

    def commits_offsets(self, transaction: bytes, group: str, number: int) -> None:
        """All partitions of the group shall have this number if the transaction is committed."""
        self._group_commits.setdefault(group, {})[number] = transaction

    def offsets_kept(self, transaction: bytes) -> None:
        """That was acknowledged."""
        self._kept.add(transaction)

    def becomes(self, transaction: bytes, outcome: Outcome) -> None:
        self._outcomes[transaction] = outcome
        if outcome is Outcome.COMMITTED and self._decisions.get(transaction) is False:
            self._verdict.fail(
                "committed transaction", f"{transaction!r} is committed, and was taken for aborted"
            )

    def deletes(self, partition: PartitionName, offset: int) -> None:
        """Somebody is about to ask that all before an offset be deleted."""
        self._deleted[partition] = max(offset, self._deleted.get(partition, 0))

    # -- what consumers see ---------------------------------------------------------------------------

    def committed(self, partition: PartitionName) -> list[int]:
        """The offsets of records in transactions that were committed."""
        return [
            offset
            for (name, value), offset in self._offsets.items()
            if name == partition and self._outcomes[self._values[name, value]] is Outcome.COMMITTED
        ]

    def reads(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """A consumer that wants committed records was given one."""
        transaction = self._values.get((partition, value))
        if transaction is None:
            self._fail("no aborted read", partition, f"nobody wrote {value!r}")
            return
        self._read.add((partition, value))
        self._is_decided(transaction, f"{value!r} is read", is_commit=True)
        told = self._offsets.get((partition, value), offset)
        if told != offset:
            self._fail("read", partition, f"{value!r} is read at {offset}, and was stored at {told}")

    def passes(self, partition: PartitionName, begin: int, end: int, found: Found) -> None:
        """A consumer that wants committed records was given these and no others between two offsets."""
        self._read_until[partition] = max(end, self._read_until.get(partition, 0))
        stored = self._stored.get(partition, {})
        given = {offset for offset, _ in found}
        for offset in range(begin, end):
            value = stored.get(offset)
            if value is not None and offset not in given:
                self._is_decided(self._values[partition, value], f"{value!r} is left out", is_commit=False)

    def has_bounds(self, partition: PartitionName, start: int, stable: int, high_watermark: int) -> None:
        """A broker said where a log starts, up to where all is decided, and up to where it is committed."""
        if not start <= stable <= high_watermark:
            detail = f"{stable}, and the log starts at {start} and is committed up to {high_watermark}"
            self._fail("last stable offset", partition, detail)

    def cannot_read(self, partition: PartitionName, offset: int, start: int) -> None:
        """A consumer of committed records was sent to this offset, and is refused there."""
        self._fail("last stable offset", partition, f"it is {offset}, and the log starts at {start}")

    def finds_offsets(self, group: str, found: Mapping[PartitionName, int]) -> None:
        """What is committed for a group when no transaction is about to change it; -1 is nothing.

        Each of its transactions commits all partitions, with a higher number than the one before.
        """
        commits = self._group_commits.get(group, {})
        numbers = set(found.values())
        if len(numbers) > 1:
            self._verdict.fail("offsets in part", f"{group} has {dict(found)}")
            return
        number = numbers.pop()
        if number in commits:
            self._is_decided(commits[number], f"{group} has its offsets", is_commit=True)
        elif number >= 0:
            self._verdict.fail("no aborted read", f"{group} has {number}, which nobody committed")
        for later, transaction in commits.items():
            if later > number and transaction in self._kept:
                self._is_decided(transaction, f"{group} does not have its offsets", is_commit=False)

    def _is_decided(self, transaction: bytes, what: str, *, is_commit: bool) -> None:
        outcome = self._outcomes[transaction]
        if is_commit and outcome in (Outcome.ABORTED, Outcome.OPEN):
            self._verdict.fail("no aborted read", f"{transaction!r} is {outcome.name}: {what}")
        elif not is_commit and outcome is Outcome.COMMITTED:
            self._verdict.fail("committed transaction", f"{transaction!r}: {what}")
        elif self._decisions.setdefault(transaction, is_commit) != is_commit:
            self._verdict.fail("atomic", f"{transaction!r} is both committed and aborted: {what}")

    def ends_with(self, found: dict[PartitionName, Found], starts: Mapping[PartitionName, int]) -> None:
        """All that a consumer of committed records finds in each partition at the end, and where each starts."""
        seen: dict[bytes, int] = {}
        for partition, records in found.items():
            if starts.get(partition, 0) > self._deleted.get(partition, 0):
                self._fail("deleted", partition, f"it starts at {starts[partition]}, which nobody asked for")
            values = [value for _, value in records]
            if len(set(values)) != len(values):
                self._fail("doubled", partition, "a record of a transaction is there twice")
            for offset, value in records:
                self.reads(partition, offset, value)
                if (transaction := self._values.get((partition, value))) is not None:
                    seen[transaction] = seen.get(transaction, 0) + 1
        wanted: dict[bytes, int] = {}
        for (partition, value), transaction in self._values.items():
            if self._offsets.get((partition, value), starts.get(partition, 0)) >= starts.get(partition, 0):
                wanted[transaction] = wanted.get(transaction, 0) + 1
        for transaction, count in wanted.items():
            outcome, found_count = self._outcomes[transaction], seen.get(transaction, 0)
            is_whole = found_count == count
            if outcome is Outcome.COMMITTED and not is_whole:
                self._verdict.fail(
                    "committed transaction", f"{transaction!r}: {found_count} of {count} records are there"
                )
            elif outcome is Outcome.ENDING and not is_whole and found_count:
                self._verdict.fail("atomic", f"{transaction!r}: {found_count} of {count} records are there")

    def _fail(self, invariant: str, partition: PartitionName, detail: str) -> None:
        self._verdict.fail(invariant, f"{partition[0]}-{partition[1]}: {detail}")
