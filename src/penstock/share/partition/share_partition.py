"""One partition as one share group reads it, on the leader of the partition.

The states of a record:

    available --acquire--> acquired --accept--> acknowledged
        ^                     |------reject, gap, or released for the last time----> archived
        '------release--------'

Only the end of an acquisition is written: for the persister acquired records are still available. A new state is
pending until it is written, and no other change may touch its records before (`Change`).
Records are archived without a write when the log no longer has them, or when they belong to an aborted transaction:
the next leader determines that itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from penstock.protocol.errors import ErrorCode
from penstock.share.partition.acquisition import Acquisition
from penstock.share.partition.change import Change, state_batches
from penstock.share.partition.in_flight import Run
from penstock.share.partition.values import (
    Acknowledgement,
    AcknowledgeType,
    Acquired,
    AcquireMode,
    OffsetRange,
    PartitionSettings,
    Refusal,
)
from penstock.share.partition.window import Window
from penstock.share.state.values import RecordState, ShareState, StateBatch

_STATE_AFTER: dict[int, RecordState] = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}
_TYPES = frozenset(int(type_) for type_ in AcknowledgeType)


class SharePartition:
    """Not thread-safe. The caller lets only one fetch at a time read the log and acquire records."""

    __slots__ = ("_next_expiry_ms", "_window", "settings", "state_epoch")

    def __init__(self, state: ShareState, *, start_offset_if_new: int, settings: PartitionSettings) -> None:
        """Begin with the persister's state; `start_offset_if_new` is used if that has no start offset yet.

        Raises `ValueError` if the state is invalid (Kafka then answers the fetch with UNKNOWN_SERVER_ERROR).
        """
        self.state_epoch = state.state_epoch
        self.settings = settings
        """May be replaced at any time."""
        self._window = Window(state, start_offset_if_new)
        self._next_expiry_ms: int | None = None

    @property
    def start_offset(self) -> int:
        return self._window.start

    @property
    def end_offset(self) -> int:
        return self._window.end

    @property
    def delivery_complete_count(self) -> int:
        """The number of acknowledged and archived records from the start offset on."""
        return self._window.complete_count

    @property
    def in_flight_count(self) -> int:
        """The number of records from the start to the end offset, in any state."""
        return self._window.in_flight_count

    @property
    def next_fetch_offset(self) -> int:
        """The offset from which the log must be read to acquire records."""
        return self._window.next_fetch_offset()

    @property
    def can_acquire(self) -> bool:
        """False while the maximum number of records is in flight and none of them is available."""
        window = self._window
        return (
            window.in_flight_count < self.settings.record_locks_max
            or window.next_fetch_offset() != window.end + 1
        )

    @property
    def next_expiry_ms(self) -> int | None:
        """The earliest time at which a lock may expire. It may be too early, and every call may change it."""
        return self._next_expiry_ms

    def records(self) -> list[StateBatch]:
        """Return the states of all records in memory (for tests)."""
        return list(state_batches(self._window.in_flight.runs()))

    def acquire(
        self,
        member_id: str,
        *,
        fetch_offset: int,
        batches: Sequence[OffsetRange],
        records_max: int,
        batch_size: int,
        now_ms: int,
        mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
        aborted: Sequence[OffsetRange] = (),
    ) -> list[Acquired]:
        """Lock records for this member, in ascending order of their offsets.

        `batches` are all record batches that were read from the log at `fetch_offset`: control batches too, and the
        whole first batch even if it begins before `fetch_offset`. `aborted` are the batches of aborted transactions
        (`aborted_ranges`; empty for groups that read uncommitted records): they are archived. The batch-optimized mode
        may acquire more than `records_max`. The result may have gaps; the response needs the record batches from its
        first to its last offset.
        """
        window = self._window
        if records_max <= 0 or not batches or batches[-1].last_offset < window.start:
            return []
        acquisition = Acquisition(
            window,
            self.settings,
            member_id=member_id,
            batches=batches,
            batch_size=batch_size,
            mode=mode,
            now_ms=now_ms,
        )
        acquisition.run(fetch_offset, records_max, self.settings.record_locks_max)
        acquired = acquisition.acquired
        if acquired:
            self._note_deadline(now_ms + self.settings.lock_duration_ms)
        if acquired and aborted:
            for first, last in aborted:
                window.archive(first, last, RecordState.ACQUIRED)
            acquired = _without(acquired, aborted)
        window.advance()
        return acquired

    def acknowledge(
        self, member_id: str, acknowledgements: Iterable[Acknowledgement], now_ms: int
    ) -> Change | Refusal:
        """Apply all acknowledgements of a member, or none. Renewals take effect at once and are not written.

        The caller has checked that each has one type or as many types as offsets.
        """
        change = Change(self._complete)
        for acknowledgement in acknowledgements:
            refused = self._acknowledge(change, member_id, acknowledgement, now_ms)
            if refused is not None:
                change.roll_back()
                return refused
        return self._to_write(change)

    def _acknowledge(
        self, change: Change, member_id: str, acknowledgement: Acknowledgement, now_ms: int
    ) -> Refusal | None:
        first, last, types = acknowledgement
        if not _TYPES.issuperset(types):
            return Refusal(ErrorCode.INVALID_REQUEST, f"Invalid acknowledge type: {list(types)}")
        if last < self._window.start:
            return None
        refused = self._refusal(member_id, first, last)
        if refused is not None:
            return refused
        if AcknowledgeType.RENEW in types and not self.settings.allows_renewal:
            return _invalid_state("Renewing acquisition locks is not enabled for the group.")
        for begin, end, type_ in _spans(first, last, types):
            for run in self._window.in_flight.split(
                max(begin, self._window.start), end, RecordState.ACQUIRED
            ):
                if type_ == AcknowledgeType.RENEW:
                    run.deadline_ms = now_ms + self.settings.lock_duration_ms
                    self._note_deadline(run.deadline_ms)
                else:
                    self._begin(change, run, _STATE_AFTER[type_])
        return None

    def _refusal(self, member_id: str, first: int, last: int) -> Refusal | None:
        """Return why this member may not acknowledge these offsets. The last one is not before the start offset."""
        in_flight = self._window.in_flight
        begin = max(first, self._window.start)
        if in_flight.floor(begin) is None:
            return _invalid_state("The request batch offsets are not found in the cache.")
        batches = in_flight.overlapping(begin, last)
        if not batches:
            return Refusal(ErrorCode.INVALID_REQUEST, "The first offset in request is past acquired records.")
        if last > batches[-1].last:
            return Refusal(ErrorCode.INVALID_REQUEST, "The last offset in request is past acquired records.")
        for batch in batches:
            for run in batch.overlapping(begin, last):
                if run.state is not RecordState.ACQUIRED:
                    return _invalid_state("The offset cannot be acknowledged. The offset is not acquired.")
                if run.member_id != member_id:
                    return _invalid_state("Member is not the owner of offset")
        return None

    def release(self, member_id: str) -> Change:
        """Release all records of a member: its session was closed, or it left the group."""
        change = Change(self._complete)
        for run in self._acquired_runs(lambda run: run.member_id == member_id):
            self._begin(change, run, RecordState.AVAILABLE)
        return self._to_write(change)

    def expire(self, now_ms: int) -> Change:
        """Release records whose lock has expired. They are available at once, before that is written.

        So `roll_back` does not restore the locks; like `commit`, it only lets the start offset move.
        """
        change = Change(self._complete)
        for run in self._acquired_runs(lambda run: run.deadline_ms <= now_ms):
            run.unlock(self._released_state(run))
            self._count(run)
            change.runs.append(run)
        self._to_write(change)
        if change.runs:
            self._window.in_flight.join(change.runs[0].first, change.runs[-1].last)
            change.runs = []
        held = (run.deadline_ms for run in self._window.in_flight.runs() if run.state is RecordState.ACQUIRED)
        self._next_expiry_ms = min(held, default=None)
        return change

    def log_start_moved(self, log_start_offset: int) -> None:
        """Archive records that the log has deleted (a fetch was out of range). Nothing is written."""
        self._window.log_start_moved(log_start_offset)

    def _acquired_runs(self, is_selected: Callable[[Run], bool]) -> Iterator[Run]:
        """Yield the acquired runs that are selected, split at the start offset."""
        start = self._window.start
        for batch in self._window.in_flight.batches:
            for run in list(batch.runs):
                if run.state is RecordState.ACQUIRED and is_selected(run):
                    if run.first < start <= run.last:
                        behind_start = batch.runs[batch.split_at(start)]
                        yield run
                        yield behind_start
                    else:
                        yield run

    def _released_state(self, run: Run) -> RecordState:
        is_archived = (
            run.last < self._window.start or run.delivery_count >= self.settings.delivery_count_limit
        )
        return RecordState.ARCHIVED if is_archived else RecordState.AVAILABLE

    def _begin(self, change: Change, run: Run, state: RecordState) -> None:
        """Give an acquired run a new state, which takes effect when it is written."""
        run.state = run.written = self._released_state(run) if state is RecordState.AVAILABLE else state
        run.change = change
        change.runs.append(run)
        self._count(run)

    def _count(self, run: Run) -> None:
        if run.is_terminal:
            self._window.complete_count += self._window.count_from_start(run)
        elif run.can_be_acquired:
            self._window.may_have_available = True

    def _to_write(self, change: Change) -> Change:
        change.batches = state_batches(change.runs)
        change.start_offset = self._window.start
        change.delivery_complete_count = self._window.complete_count
        return change

    def _complete(self, change: Change, is_written: bool) -> bool:
        window = self._window
        runs, change.runs = change.runs, []
        frees_any = False
        for run in runs:
            run.change = None
            if is_written or run.state is not run.written:
                run.unlock(run.state)
                frees_any = frees_any or run.state is RecordState.AVAILABLE
            else:
                if run.is_terminal:
                    window.complete_count -= window.count_from_start(run)
                run.state = RecordState.ACQUIRED
                self._note_deadline(run.deadline_ms)
        if frees_any:
            window.may_have_available = True
        if runs:
            window.in_flight.join(min(run.first for run in runs), max(run.last for run in runs))
        return window.advance() or frees_any

    def _note_deadline(self, deadline_ms: int) -> None:
        if self._next_expiry_ms is None or deadline_ms < self._next_expiry_ms:
            self._next_expiry_ms = deadline_ms


def _invalid_state(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_RECORD_STATE, message)


def _spans(first: int, last: int, types: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of offsets with the same type."""
    if types.count(types[0]) == len(types):
        yield first, last, types[0]
        return
    begin = first
    for type_, alike in groupby(types):
        end = begin + len(list(alike)) - 1
        yield begin, end, type_
        begin = end + 1


def _without(acquired: Iterable[Acquired], aborted: Sequence[OffsetRange]) -> list[Acquired]:
    """Return the acquired ranges without the aborted ones; both ascend."""
    kept: list[Acquired] = []
    for first, last, delivery_count in acquired:
        begin = first
        for aborted_first, aborted_last in aborted:
            if aborted_last < begin or aborted_first > last:
                continue
            if aborted_first > begin:
                kept.append(Acquired(begin, aborted_first - 1, delivery_count))
            begin = aborted_last + 1
        if begin <= last:
            kept.append(Acquired(begin, last, delivery_count))
    return kept
