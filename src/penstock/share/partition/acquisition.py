"""Acquires records that were read from the log for a member.

Available records in flight come first, in the order of their offsets; then records after the end offset, which become
new batches. Record batches are acquired as a whole, except for a member that limits the number of records (KIP-1206).
Records that were delivered often without success are acquired in ever smaller portions, and one by one at the last
delivery, so that one bad record does not make its neighbours fail (KIP-1240).
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from penstock.share.partition.in_flight import InFlightBatch, Run
from penstock.share.partition.values import Acquired, AcquireMode, OffsetRange, PartitionSettings
from penstock.share.partition.window import Window
from penstock.share.state.values import RecordState

_THROTTLE_FROM_MIN = 2
_FIRST_OFFSET = attrgetter("first_offset")


class Acquisition:
    """One acquisition by one member; `acquired` is the result."""

    def __init__(
        self,
        window: Window,
        settings: PartitionSettings,
        *,
        member_id: str,
        batches: Sequence[OffsetRange],
        batch_size: int,
        mode: AcquireMode,
        now_ms: int,
    ) -> None:
        self._window = window
        self._limit = settings.delivery_count_limit
        self._throttle_from = max(_THROTTLE_FROM_MIN, (settings.delivery_count_limit + 1) // 2)
        self._member_id = member_id
        self._deadline_ms = now_ms + settings.lock_duration_ms
        self._batches = batches
        self._batch_size = max(1, batch_size)
        self._is_limited = mode is AcquireMode.RECORD_LIMIT
        self._first = batches[0].first_offset
        self._last = batches[-1].last_offset
        self.records_left = 0
        self.acquired: list[Acquired] = []

    def run(self, fetch_offset: int, records_max: int, locks_max: int) -> None:
        self._bound(fetch_offset, records_max, locks_max)
        if self.records_left <= 0:
            return
        window = self._window
        if fetch_offset < self._first and window.archive(
            fetch_offset, self._first - 1, RecordState.AVAILABLE
        ):
            window.may_have_available = True  # the log no longer has them (compaction)
        searched_to = self._acquire_in_flight()
        if self.records_left > 0:
            self._acquire_new(searched_to + 1, self._last)
        if window.has_gaps and fetch_offset <= window.gap_start:
            self._note_gaps_filled()

    def _note_gaps_filled(self) -> None:
        """The records that were read have filled the gaps, or shown that there is nothing in them."""
        if self.records_left > 0:
            self._window.no_gap_before(self._last + 1)
        elif self.acquired:
            self._window.no_gap_before(self.acquired[-1].last_offset + 1)

    def _bound(self, fetch_offset: int, records_max: int, locks_max: int) -> None:
        """Set the maximum number of records and the last offset."""
        window = self._window
        self.records_left = min(records_max, locks_max - window.in_flight_count)
        if self.records_left <= 0 and fetch_offset <= window.end:
            # No more records may be in flight, but available ones in flight can still be acquired.
            self.records_left = min(records_max, window.end - fetch_offset + 1)
            self._last = min(self._last, window.end)

    def _acquire_in_flight(self) -> int:
        """Acquire available records in flight; return the last offset that was searched."""
        window = self._window
        searched_to = max(self._first, window.start) - 1
        for batch in window.in_flight.overlapping(self._first, self._last):
            if window.has_gaps and searched_to + 1 < batch.first:
                self._acquire_new(searched_to + 1, batch.first - 1)
                if self.records_left <= 0:
                    break
            searched_to = max(searched_to, batch.last)
            is_throttled = self._is_throttled(batch)
            if is_throttled and self.acquired:
                self.records_left = 0
                break
            count = self._acquire_from(batch)
            self.records_left = 0 if is_throttled and count else self.records_left - count
            if self.records_left <= 0:
                break
        return searched_to

    def _is_throttled(self, batch: InFlightBatch) -> bool:
        return any(
            run.delivery_count >= self._throttle_from and run.can_be_acquired
            for run in batch.overlapping(self._first, self._last)
        )

    def _acquire_from(self, batch: InFlightBatch) -> int:
        """Acquire available records of a batch; return how many."""
        first, last = max(self._first, self._window.start), self._last
        portion = -1  # of a batch with records that were delivered often
        count = 0
        given = len(self.acquired)
        for run in list(batch.overlapping(first, last)):
            if not run.can_be_acquired:
                continue
            is_last_delivery = self._limit > 2 and run.delivery_count == self._limit - 1
            if is_last_delivery and count:
                break
            if portion < 0 and run.delivery_count >= self._throttle_from:
                size = batch.last - batch.first + 1
                portion = max(1, size >> (run.delivery_count - self._throttle_from + 1))
            begin = max(run.first, first)
            wanted = min(run.last, last) - begin + 1
            if self._is_limited:
                wanted = min(wanted, self.records_left - count)
            if count < portion:
                wanted = min(wanted, portion - count)
            if is_last_delivery:
                wanted = 1
            locked = self._lock(batch, run, begin, begin + wanted - 1)
            self._append(locked, may_extend=len(self.acquired) > given)
            count += wanted
            if is_last_delivery or count == portion or (self._is_limited and count == self.records_left):
                break
        batch.join()
        return count

    def _lock(self, batch: InFlightBatch, run: Run, first: int, last: int) -> Run:
        """Lock a part of a run for the member."""
        if run.first < first:
            run = batch.runs[batch.split_at(first)]
        if run.last > last:
            batch.split_at(last + 1)
        run.state = RecordState.ACQUIRED
        run.delivery_count += 1
        run.member_id = self._member_id
        run.deadline_ms = self._deadline_ms
        return run

    def _append(self, run: Run, *, may_extend: bool) -> None:
        before = self.acquired[-1] if may_extend else None
        if (
            before is not None
            and before.last_offset + 1 == run.first
            and before.delivery_count == run.delivery_count
        ):
            self.acquired[-1] = before._replace(last_offset=run.last)
        else:
            self.acquired.append(Acquired(run.first, run.last, run.delivery_count))

    def _acquire_new(self, first: int, last: int) -> None:
        """Acquire records that were not in flight: whole record batches, which may exceed the maximum."""
        if first > last:
            return
        window = self._window
        if self.records_left <= last - first:
            last = min(last, self._batch_end(first + self.records_left - 1))
        if self._is_limited:
            self._add_limited(first, last)
        else:
            self._add_batches(first, last)
        if window.in_flight.batches[0].first == first:
            window.start = first
        window.end = max(window.end, last)
        self.records_left -= self.acquired[-1].last_offset - first + 1

    def _batch_end(self, offset: int) -> int:
        """Return the last offset of the record batch with this offset."""
        index = bisect_right(self._batches, offset, key=_FIRST_OFFSET) - 1
        return max(offset, self._batches[index].last_offset) if index >= 0 else offset

    def _add_limited(self, first: int, last: int) -> None:
        """Put a whole batch in flight, of which the member gets no more than its maximum."""
        batch = InFlightBatch(Run(first, last, RecordState.AVAILABLE, 0))
        self._window.in_flight.add(batch)
        if last - first >= self.records_left:
            self._window.may_have_available = True
        locked = self._lock(batch, batch.runs[0], first, min(last, first + self.records_left - 1))
        self._append(locked, may_extend=False)

    def _add_batches(self, first: int, last: int) -> None:
        """Put records in flight in batches of about the requested size, which end where record batches end."""
        ends: list[int] = []
        begin = first
        if last - first >= self._batch_size:
            for base, _ in self._batches:
                if base > last:
                    break
                if base - begin >= self._batch_size:
                    ends.append(base - 1)
                    begin = base
        begin = first
        for end in (*ends, last):
            run = Run(
                begin, end, RecordState.ACQUIRED, 1, member_id=self._member_id, deadline_ms=self._deadline_ms
            )
            self._window.in_flight.add(InFlightBatch(run))
            self._append(run, may_extend=False)
            begin = end + 1
