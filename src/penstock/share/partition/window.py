"""The records in flight of a share partition: start and end offset, complete records, and the next fetch offset.

Records from the start offset to the end offset are in flight. Records before are complete, records after were never
acquired. While nothing is in flight, both are the offset of the next record to read.

A state from the persister may have gaps: records that no member had acquired when the previous leader wrote last,
though later ones were acquired (it had acquired them and not written it, or lost the response). Batches made here have
no such gap between them, only offsets that the log does not have. So gaps are searched only up to the end of the
persister's state, and only until records after it are acquired.
"""

from penstock.share.partition.in_flight import InFlight, InFlightBatch, Run
from penstock.share.state.values import UNINITIALIZED_OFFSET, RecordState, ShareState


class Window:
    """The offsets and the records in flight. Callers change the records; it updates the offsets."""

    def __init__(self, state: ShareState, start_offset_if_new: int) -> None:
        is_new = state.start_offset == UNINITIALIZED_OFFSET
        self.start = start_offset_if_new if is_new else state.start_offset
        self.end = self.start
        self.complete_count = 0
        """The number of acknowledged and archived records from the start offset on."""
        self.in_flight = InFlight()
        self.may_have_available = bool(state.batches)
        """Whether records in flight may be available: `next_fetch_offset` has to search them."""
        self._gap_start = -1
        self._gap_end = -1
        self._load(state)
        self.advance()

    def _load(self, state: ShareState) -> None:
        expected = self.start
        for first, last, record_state, delivery_count in state.batches:
            if first < expected or last < first:
                raise ValueError(f"the state has records {first} to {last} instead of {expected} or later")
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
        """Whether there may be records between batches that no member has acquired, from `gap_start` on."""
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
            self.may_have_available = False
            return self.end
        if self.may_have_available:
            available = self._first_available()
            if available is not None:
                return available
            self.may_have_available = False
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
        """Return how many of these records are not before the start offset."""
        return max(0, run.last - max(run.first, self.start) + 1)

    def archive(self, first: int, last: int, state: RecordState) -> bool:
        """Archive the records with this state in the range. Return whether there are any."""
        archived_any = False
        for run in self.in_flight.split(first, last, state):
            run.unlock(RecordState.ARCHIVED)
            self.complete_count += self.count_from_start(run)
            archived_any = True
        return archived_any

    def log_start_moved(self, log_start_offset: int) -> None:
        if log_start_offset <= self.start:
            return
        if self.in_flight.batches and self.archive(self.start, log_start_offset - 1, RecordState.AVAILABLE):
            self.may_have_available = True
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
        """Remove complete records at the beginning, and move the start offset. Return whether it moved."""
        complete_to = self._complete_to()
        if complete_to is None:
            return False
        batches = self.in_flight.batches
        if complete_to == batches[-1].last:
            batches.clear()
            self.start = self.end = max(self.start, complete_to + 1)
            self.complete_count = 0
            return True
        kept = next(index for index, batch in enumerate(batches) if batch.last > complete_to)
        # Offsets between two batches are not in the log, or they are a gap.
        start = max(complete_to + 1, batches[kept].first)
        if self.has_gaps:
            start = min(start, max(self._gap_start, complete_to + 1))
        if start > self.start:
            self._move_start(start)
        del batches[:kept]
        return True

    def _complete_to(self) -> int | None:
        """Return the last offset up to which all records are complete, and none is being written."""
        complete_to = None
        for batch in self.in_flight.batches:
            if self.has_gaps and batch.last >= self._gap_start:
                break
            for run in batch.runs:
                if run.change is not None or not run.is_terminal:
                    return complete_to
                complete_to = run.last
        return complete_to
