"""The records in flight, by ranges, with their owner and delivery count.

Records are delivered in batches. A batch keeps its ends while any of its records is in flight: they decide which
records are delivered together again. A batch consists of runs: consecutive records with the same state. It begins as
one run. Runs are split where a member acknowledges a part, and joined when they are equal again. So a record needs
memory only while it differs from its neighbours.

    batch  0........................499
    runs   0-99 accepted | 100 rejected | 101-499 acquired by a, until 12:00:30
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter

import msgspec

from penstock.share.partition.change import Change
from penstock.share.state.values import RecordState

NO_MEMBER = ""
NEVER = 0

_FIRST = attrgetter("first")


class Run(msgspec.Struct, eq=False):
    """Records from `first` to `last`, both included. `change` is set while their new state is being written."""

    first: int
    last: int
    state: RecordState
    delivery_count: int
    member_id: str = NO_MEMBER
    deadline_ms: int = NEVER
    change: Change | None = None
    written: RecordState = RecordState.AVAILABLE
    """The state that `change` writes; `state` may become archived meanwhile, when the log deletes the record."""

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_terminal(self) -> bool:
        return self.state is RecordState.ACKNOWLEDGED or self.state is RecordState.ARCHIVED

    @property
    def can_be_acquired(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.change is None

    def unlock(self, state: RecordState) -> None:
        """Remove the lock of the records, and set their state."""
        self.state = state
        self.member_id = NO_MEMBER
        self.deadline_ms = NEVER

    def split_at(self, offset: int) -> "Run":
        """Keep the part before `offset` and return the rest."""
        rest = msgspec.structs.replace(self, first=offset)
        if self.change is not None:
            self.change.runs.append(rest)
        self.last = offset - 1
        return rest

    def is_like(self, other: "Run") -> bool:
        return (
            self.state is other.state
            and self.delivery_count == other.delivery_count
            and self.deadline_ms == other.deadline_ms
            and self.member_id == other.member_id
            and self.change is None
            and other.change is None
        )


class InFlightBatch:
    """Records that were first acquired together, without gaps between the runs."""

    __slots__ = ("first", "last", "runs")

    def __init__(self, run: Run) -> None:
        self.first = run.first
        self.last = run.last
        self.runs = [run]

    def split_at(self, offset: int) -> int:
        """Split the runs at `offset`, which is in this batch or right after it; return the index of the rest."""
        index = bisect_left(self.runs, offset, key=_FIRST)
        before = self.runs[index - 1] if index else None
        if before is not None and before.last >= offset:
            self.runs.insert(index, before.split_at(offset))
        return index

    def overlapping(self, first: int, last: int) -> list[Run]:
        """Return the runs with records in this range, not cut to it."""
        if first <= self.first and self.last <= last:
            return self.runs
        if first > self.last:
            return []
        begin = max(0, bisect_right(self.runs, first, key=_FIRST) - 1)
        return self.runs[begin : bisect_right(self.runs, last, key=_FIRST)]

    def join(self) -> None:
        """Join adjacent equal runs."""
        runs = self.runs
        if len(runs) == 1:
            return
        kept = runs[:1]
        for run in runs[1:]:
            if kept[-1].is_like(run):
                kept[-1].last = run.last
            else:
                kept.append(run)
        self.runs = kept


class InFlight:
    """Batches in the order of their offsets. There may be gaps between them."""

    __slots__ = ("batches",)

    def __init__(self) -> None:
        self.batches: list[InFlightBatch] = []

    def add(self, batch: InFlightBatch) -> None:
        self.batches.insert(bisect_left(self.batches, batch.first, key=_FIRST), batch)

    def floor(self, offset: int) -> InFlightBatch | None:
        """Return the last batch that begins at or before `offset`."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        return self.batches[index - 1] if index else None

    def overlapping(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches with offsets in this range."""
        batches = self.batches
        begin = bisect_right(batches, first, key=_FIRST)
        if begin and batches[begin - 1].last >= first:
            begin -= 1
        return batches[begin : bisect_right(batches, last, key=_FIRST)]

    def split(self, first: int, last: int, state: RecordState) -> Iterator[Run]:
        """Yield the runs with this state in the range, split at the ends of the range."""
        for batch in self.overlapping(first, last):
            for run in list(batch.overlapping(first, last)):
                if run.state is not state:
                    continue
                inside = run
                if inside.first < first:
                    inside = batch.runs[batch.split_at(first)]
                if inside.last > last:
                    batch.split_at(last + 1)
                yield inside

    def join(self, first: int, last: int) -> None:
        for batch in self.overlapping(first, last):
            batch.join()

    def runs(self) -> Iterator[Run]:
        for batch in self.batches:
            yield from batch.runs
