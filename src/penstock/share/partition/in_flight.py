"""The records in flight, by ranges: who has them and how often they were delivered.

Records are delivered in batches, and a batch keeps its ends for as long as any of its records is in flight: it decides
what is given together when it is delivered again. Inside a batch are runs, records in sequence that have everything in
common. A batch begins as one run; runs are cut where a member acknowledges part of one, and joined again when nothing
tells them apart any more. So a record costs memory only while its neighbours differ from it.

    batch  0........................499
    runs   0-99 accepted | 100 rejected | 101-499 acquired by a, until 12:00:30
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import attrgetter

from penstock.share.partition.change import Change
from penstock.share.values import RecordState

NOBODY = ""
NEVER = 0

_FIRST = attrgetter("first")


class Run:
    """Records from `first` to `last`, both included. `change` is set while a transition of theirs is being written."""

    __slots__ = ("change", "deadline_ms", "delivery_count", "first", "last", "member_id", "state", "written")

    def __init__(
        self,
        first: int,
        last: int,
        state: RecordState,
        delivery_count: int,
        *,
        member_id: str = NOBODY,
        deadline_ms: int = NEVER,
    ) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.delivery_count = delivery_count
        self.member_id = member_id
        self.deadline_ms = deadline_ms
        self.change: Change | None = None
        self.written = state
        """What `change` writes: `state` may be archived meanwhile, because the record is no longer in the log."""

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_terminal(self) -> bool:
        return self.state is RecordState.ACKNOWLEDGED or self.state is RecordState.ARCHIVED

    @property
    def can_be_acquired(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.change is None

    def let_go(self, state: RecordState) -> None:
        """Nobody holds the records any more, and they have this state."""
        self.state = state
        self.member_id = NOBODY
        self.deadline_ms = NEVER

    def cut_at(self, offset: int) -> "Run":
        """Keep what is before `offset` and return the rest."""
        rest = Run(
            offset,
            self.last,
            self.state,
            self.delivery_count,
            member_id=self.member_id,
            deadline_ms=self.deadline_ms,
        )
        rest.written = self.written
        if self.change is not None:
            rest.change = self.change
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
    """Records that were first acquired together, with nothing between its runs."""

    __slots__ = ("first", "last", "runs")

    def __init__(self, run: Run) -> None:
        self.first = run.first
        self.last = run.last
        self.runs = [run]

    def cut_at(self, offset: int) -> int:
        """Make a run begin at `offset`, which is in this batch or right behind it; return its index."""
        index = bisect_left(self.runs, offset, key=_FIRST)
        before = self.runs[index - 1] if index else None
        if before is not None and before.last >= offset:
            self.runs.insert(index, before.cut_at(offset))
        return index

    def overlapping(self, first: int, last: int) -> list[Run]:
        """Runs that have records in this range, whole."""
        if first <= self.first and self.last <= last:
            return self.runs
        if first > self.last:
            return []
        begin = max(0, bisect_right(self.runs, first, key=_FIRST) - 1)
        return self.runs[begin : bisect_right(self.runs, last, key=_FIRST)]

    def join(self) -> None:
        """Make one run of neighbours that nothing tells apart."""
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
    """Batches in the order of their offsets. Between two of them may be offsets that are in none."""

    __slots__ = ("batches",)

    def __init__(self) -> None:
        self.batches: list[InFlightBatch] = []

    def add(self, batch: InFlightBatch) -> None:
        self.batches.insert(bisect_left(self.batches, batch.first, key=_FIRST), batch)

    def floor(self, offset: int) -> InFlightBatch | None:
        """The last batch that does not begin behind `offset`."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        return self.batches[index - 1] if index else None

    def overlapping(self, first: int, last: int) -> list[InFlightBatch]:
        """Batches with offsets in this range."""
        batches = self.batches
        begin = bisect_right(batches, first, key=_FIRST)
        if begin and batches[begin - 1].last >= first:
            begin -= 1
        return batches[begin : bisect_right(batches, last, key=_FIRST)]

    def cut(self, first: int, last: int, state: RecordState) -> Iterator[Run]:
        """Runs of this state that make up exactly what of this state is in the range; they are cut at its ends."""
        for batch in self.overlapping(first, last):
            for run in list(batch.overlapping(first, last)):
                if run.state is not state:
                    continue
                inside = run
                if inside.first < first:
                    inside = batch.runs[batch.cut_at(first)]
                if inside.last > last:
                    batch.cut_at(last + 1)
                yield inside

    def join(self, first: int, last: int) -> None:
        for batch in self.overlapping(first, last):
            batch.join()

    def runs(self) -> Iterator[Run]:
        for batch in self.batches:
            yield from batch.runs
