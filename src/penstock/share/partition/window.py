"""The part of the log that is in flight: from where to where, what of it is done, where to read next.

Records from the start offset to the end offset are in flight; those before are done with, those behind were never given
to anybody. While nothing is in flight both offsets are that of the record to be read next.

State that was read from the persister may have gaps: records that nobody had acquired when the leader before this one
wrote its last, though later ones were given out (it had acquired them and wrote nothing, or lost the answer). Between
two batches made here there is never such a gap, only offsets that the log does not have. So gaps are looked for
only up to the end of what was read from the persister, and only until records behind that were acquired.
"""

from penstock.share.partition.in_flight import InFlight, InFlightBatch, Run
from penstock.share.values import UNINITIALIZED_OFFSET, RecordState, ShareState


class Window:
    """The offsets and the records in flight. Its users change the records; it knows what follows from that."""

    __slots__ = (
        "_gap_end",
        "_gap_start",
        "complete_count",
        "end",
        "in_flight",
        "looks_for_available",
        "start",
    )

    def __init__(self, state: ShareState, start_offset_if_new: int) -> None:
        is_new = state.start_offset == UNINITIALIZED_OFFSET
        self.start = start_offset_if_new if is_new else state.start_offset
        self.end = self.start
        self.complete_count = 0
        """Of records from the start offset on that are acknowledged or archived."""
        self.in_flight = InFlight()
        self.looks_for_available = bool(state.batches)
        """Whether records in flight may be available: `next_fetch_offset` has to look."""
        self._gap_start = -1
        self._gap_end = -1
        self._load(state)
        self.advance()

    def _load(self, state: ShareState) -> None:
        expected = self.start
        for first, last, record_state, delivery_count in state.batches:
            if first < expected or last < first:
                raise ValueError(f"state of records {first} to {last} where {expected} or later was expected")
            if first > expected and self._gap_start < 0:
                self._gap_start = expected
            expected = last + 1
            run = Run(first, last, record_state, delivery_count)
            self.in_flight.batches.append(InFlightBatch(run))
            self.complete_count += len(run) if run.is_terminal else 0
        if state.batches:
            self.end = expected - 1
            self._gap_end = self.end

    @property
    def in_flight_count(self) -> int:
        return self.end - self.start + 1 if self.in_flight.batches else 0

    @property
    def has_gaps(self) -> bool:
        """Whether there may be records between batches that nobody has acquired, from `gap_start` on."""
        return self._gap_start >= 0 and self._gap_end == self.end

    @property
    def gap_start(self) -> int:
        return self._gap_start

    def no_gap_before(self, offset: int) -> None:
        if not self.has_gaps or offset > self._gap_end:
            self._gap_start = -1
        else:
            self._gap_start = max(self._gap_start, offset)

    def next_fetch_offset(self) -> int:
        batches = self.in_flight.batches
        if not batches or self.start > batches[-1].last:
            self.looks_for_available = False
            return self.end
        if self.looks_for_available:
            available = self._first_available()
            if available is not None:
                return available
            self.looks_for_available = False
        return self.end + 1

    def _first_available(self) -> int | None:
        for batch in self.in_flight.batches:
            if self.has_gaps:
                if batch.first > self._gap_start:
                    return self._gap_start
                self.no_gap_before(batch.last + 1)
            for run in batch.runs:
                if run.can_be_acquired:
                    return run.first
        return None

    def count_from_start(self, run: Run) -> int:
        """How many of these records are not before the start offset."""
        return max(0, run.last - max(run.first, self.start) + 1)

    def archive(self, first: int, last: int, state: RecordState) -> bool:
        """Archive what has this state in the range. True if that is anything."""
        archived_any = False
        for run in self.in_flight.cut(first, last, state):
            run.let_go(RecordState.ARCHIVED)
            self.complete_count += self.count_from_start(run)
            archived_any = True
        return archived_any

    def log_start_moved(self, log_start_offset: int) -> None:
        if log_start_offset <= self.start:
            return
        if self.in_flight.batches and self.archive(self.start, log_start_offset - 1, RecordState.AVAILABLE):
            self.looks_for_available = True
        self._move_start(log_start_offset)
        self.no_gap_before(log_start_offset)
        if self.end < self.start or not self.in_flight.batches:
            self.end = self.start
        self.advance()

    def _move_start(self, offset: int) -> None:
        for batch in self.in_flight.overlapping(self.start, offset - 1):
            for run in batch.overlapping(self.start, offset - 1):
                if run.is_terminal:
                    self.complete_count -= min(run.last, offset - 1) - max(run.first, self.start) + 1
        self.start = offset

    def advance(self) -> bool:
        """Let go of what is done with, from the beginning on, and move the start offset behind it. True if it moved."""
        done_to = self._done_to()
        if done_to is None:
            return False
        batches = self.in_flight.batches
        if done_to == batches[-1].last:
            batches.clear()
            self.start = self.end = max(self.start, done_to + 1)
            self.complete_count = 0
            return True
        kept = next(index for index, batch in enumerate(batches) if batch.last > done_to)
        # What is between two batches is not in the log, or it is a gap.
        start = max(done_to + 1, batches[kept].first)
        if self.has_gaps:
            start = min(start, max(self._gap_start, done_to + 1))
        if start > self.start:
            self._move_start(start)
        del batches[:kept]
        return True

    def _done_to(self) -> int | None:
        """The last offset before which everything is done with, and nothing of it is still being written."""
        done_to = None
        for batch in self.in_flight.batches:
            if self.has_gaps and batch.last >= self._gap_start:
                break
            for run in batch.runs:
                if run.change is not None or not run.is_terminal:
                    return done_to
                done_to = run.last
        return done_to
