"""What transactions promise: who reads committed records sees all of a committed transaction, and nothing of others."""

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
        self._values: dict[tuple[PartitionName, bytes], bytes] = {}
        self._offsets: dict[tuple[PartitionName, bytes], int] = {}

    def committed_count(self) -> int:
        return sum(each is Outcome.COMMITTED for each in self._outcomes.values())

    def aborted_count(self) -> int:
        return sum(each is Outcome.ABORTED for each in self._outcomes.values())

    def writes(self, transaction: bytes, partition: PartitionName, value: bytes) -> None:
        """A record is about to be sent."""
        self._outcomes.setdefault(transaction, Outcome.OPEN)
        self._values[partition, value] = transaction

    def written(self, partition: PartitionName, value: bytes, offset: int) -> None:
        """It was acknowledged."""
        self._offsets[partition, value] = offset

    def becomes(self, transaction: bytes, outcome: Outcome) -> None:
        self._outcomes[transaction] = outcome

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
        outcome = self._outcomes[transaction]
        if outcome in (Outcome.ABORTED, Outcome.OPEN):
            self._fail("no aborted read", partition, f"{value!r} of an {outcome.name} transaction is read")
        told = self._offsets.get((partition, value), offset)
        if told != offset:
            self._fail("read", partition, f"{value!r} is read at {offset}, and was stored at {told}")

    def ends_with(self, found: dict[PartitionName, Found]) -> None:
        """All that a consumer of committed records finds in each partition at the end."""
        seen: dict[bytes, int] = {}
        for partition, records in found.items():
            values = [value for _, value in records]
            if len(set(values)) != len(values):
                self._fail("doubled", partition, "a record of a transaction is there twice")
            for offset, value in records:
                self.reads(partition, offset, value)
                if (transaction := self._values.get((partition, value))) is not None:
                    seen[transaction] = seen.get(transaction, 0) + 1
        wanted: dict[bytes, int] = {}
        for transaction in self._values.values():
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
