"""Random histories of one share partition, compared with a model that has a line for every single offset.

A log grows, is compacted and loses its beginning; members fetch, acknowledge what they hold (and what they do not),
leave and are late; writes succeed, fail and overtake each other; the leader changes and starts from what was written.
After each history everything can still be delivered to the end, and what was accepted never comes back.
"""

from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.protocol.errors import ErrorCode
from penstock.share.partition.change import Change
from penstock.share.partition.share_partition import SharePartition
from penstock.share.partition.values import (
    Acknowledgement,
    AcquireMode,
    OffsetRange,
    PartitionSettings,
    Refusal,
)
from penstock.share.state.values import UNINITIALIZED_OFFSET, RecordState, ShareState, StateBatch

MEMBERS: Final = ("a", "b", "c")
LIMIT: Final = 4
LOCK_MS: Final = 100
DONE: Final = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
AFTER: Final = (RecordState.ARCHIVED, RecordState.ACKNOWLEDGED, RecordState.AVAILABLE, RecordState.ARCHIVED)


class Line:
    """The model's state of one offset. While `change` is set, `state` is being written."""

    def __init__(self, state: RecordState, count: int, member: str = "", deadline_ms: int = 0) -> None:
        self.state = state
        self.count = count
        self.member = member
        self.deadline_ms = deadline_ms
        self.change: Change | None = None
        self.is_lost = False  # archived because the log does not have it any more

    def give_back(self, is_behind_start: bool) -> None:
        self.state = RecordState.ARCHIVED if is_behind_start or self.count >= LIMIT else RecordState.AVAILABLE


class SharePartitionModel(RuleBasedStateMachine):
    partition: SharePartition
    settings: PartitionSettings

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.log: list[OffsetRange] = []
        self.aborted: set[OffsetRange] = set()
        self.log_start = self.log_end = 0
        self.start = 0
        self.lines: dict[int, Line] = {}
        self.changes: list[Change] = []
        self.kept: dict[int, tuple[RecordState, int]] = {}
        self.kept_start = UNINITIALIZED_OFFSET
        self.accepted: set[int] = set()

    @initialize(locks_max=st.integers(4, 40), offset=st.integers(0, 3))
    def begin(self, locks_max: int, offset: int) -> None:
        self.settings = PartitionSettings(
            lock_duration_ms=LOCK_MS, delivery_count_limit=LIMIT, record_locks_max=locks_max
        )
        self.log_start = self.log_end = offset
        self.load()

    def load(self) -> None:
        self.lines = {offset: Line(*kept) for offset, kept in self.kept.items()}
        batches = [StateBatch(offset, offset, *kept) for offset, kept in sorted(self.kept.items())]
        state = ShareState(7, self.kept_start, batches)
        self.partition = SharePartition(state, start_offset_if_new=self.log_start, settings=self.settings)
        self.start = self.log_start if self.kept_start == UNINITIALIZED_OFFSET else self.kept_start

    @rule(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), aborts=st.booleans())
    def append(self, sizes: list[int], aborts: bool) -> None:
        for size in sizes:
            batch = OffsetRange(self.log_end, self.log_end + size - 1)
            self.log.append(batch)
            self.log_end += size
            if aborts and size % 3 == 0:
                self.aborted.add(batch)

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        if len(self.log) > 1:
            self.log.remove(data.draw(st.sampled_from(self.log[:-1])))

    @rule(by=st.integers(1, 15))
    def delete_records(self, by: int) -> None:
        self.log_start = min(self.log_start + by, self.log_end)
        self.log = [batch for batch in self.log if batch.last_offset >= self.log_start]

    @rule(
        member=st.sampled_from(MEMBERS),
        mode=st.sampled_from(AcquireMode),
        records_max=st.integers(1, 12),
        batch_size=st.integers(1, 8),
        batches_max=st.integers(1, 6),
    )
    def fetch(
        self, member: str, mode: AcquireMode, records_max: int, batch_size: int, batches_max: int
    ) -> None:
        offset = self.partition.next_fetch_offset
        if offset < self.log_start:
            self.learn_log_start()
            return
        read = [batch for batch in self.log if batch.last_offset >= offset][:batches_max]
        aborted = [batch for batch in read if batch in self.aborted]
        end_before = self.partition.end_offset
        could_acquire = self.partition.can_acquire
        acquired = self.partition.acquire(
            member,
            fetch_offset=offset,
            batches=read,
            records_max=records_max,
            batch_size=batch_size,
            mode=mode,
            aborted=aborted,
            now_ms=self.now_ms,
        )
        if could_acquire and read:
            self.lose(offset, read[0].first_offset)
        elif not could_acquire:
            assert not acquired
        given = [offset for first, last, _ in acquired for offset in range(first, last + 1)]
        assert given == sorted(set(given))
        assert mode is AcquireMode.BATCH_OPTIMIZED or len(given) <= records_max
        for batch in acquired:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                self.give(offset, batch.delivery_count, member)
        self.archive_aborted(aborted)
        if could_acquire and read and not given and not aborted:
            assert all(
                self.line(offset).state is not RecordState.AVAILABLE or self.line(offset).change
                for batch in read
                for offset in range(max(batch.first_offset, self.start), batch.last_offset + 1)
                if offset <= end_before
            )

    def line(self, offset: int) -> Line:
        return self.lines.setdefault(offset, Line(RecordState.AVAILABLE, 0))

    def lose(self, first: int, end: int) -> None:
        """The log has no records between these offsets: available ones are archived."""
        for offset in range(first, end):
            line = self.lines.get(offset)
            if line is not None and line.state is RecordState.AVAILABLE:
                line.state = RecordState.ARCHIVED
                line.is_lost = True

    def give(self, offset: int, delivery_count: int, member: str) -> None:
        line = self.line(offset)
        assert offset >= self.start, "given though it is behind the start offset"
        assert offset not in self.accepted, "given though it was accepted"
        assert (line.state, line.change) == (RecordState.AVAILABLE, None)
        assert delivery_count == line.count + 1
        self.lines[offset] = Line(RecordState.ACQUIRED, delivery_count, member, self.now_ms + LOCK_MS)

    def archive_aborted(self, aborted: list[OffsetRange]) -> None:
        states = {
            offset: (batch.state, batch.delivery_count)
            for batch in self.partition.records()
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        for first, last in aborted:
            for offset in range(first, last + 1):
                line = self.line(offset)
                assert line.state is not RecordState.ACQUIRED, "an aborted record was given"
                is_over = offset < self.partition.start_offset
                gone = (RecordState.ARCHIVED if is_over else line.state, line.count)
                state, count = states.get(offset, gone)
                if line.state is RecordState.AVAILABLE and state is RecordState.ARCHIVED:
                    assert line.change is None
                    line.state, line.count = state, count

    @rule(data=st.data(), member=st.sampled_from(MEMBERS))
    def acknowledge_what_is_held(self, data: st.DataObject, member: str) -> None:
        held = [
            offset for offset in sorted(self.lines) if self.holder(offset) == member and offset >= self.start
        ]
        if not held:
            return
        first = data.draw(st.sampled_from(held))
        last = first
        stop = first + data.draw(st.integers(0, 9))
        while last < stop and self.holder(last + 1) == member:
            last += 1
        if data.draw(st.booleans()):
            types = [data.draw(st.integers(0, 4))]
        else:
            types = data.draw(
                st.lists(st.integers(0, 4), min_size=last - first + 1, max_size=last - first + 1)
            )
        change = self.partition.acknowledge(member, [Acknowledgement(first, last, types)], self.now_ms)
        assert isinstance(change, Change)
        for offset in range(first, last + 1):
            line = self.lines[offset]
            type_ = types[offset - first] if len(types) > 1 else types[0]
            if type_ == 4:
                line.deadline_ms = self.now_ms + LOCK_MS
                continue
            line.state = AFTER[type_]
            if line.state is RecordState.AVAILABLE:
                line.give_back(is_behind_start=False)
            line.change = change
        self.expect(change)

    def holder(self, offset: int) -> str | None:
        line = self.lines.get(offset)
        return line.member if line is not None and line.state is RecordState.ACQUIRED else None

    @rule(member=st.sampled_from(MEMBERS), offset=st.integers(-3, 30), size=st.integers(1, 6))
    def acknowledge_at_random(self, member: str, offset: int, size: int) -> None:
        first = max(0, self.start + offset)
        last = first + size - 1
        known = [
            o for batch in self.partition.records() for o in range(batch.first_offset, batch.last_offset + 1)
        ]
        asked = [o for o in range(max(first, self.start), last + 1) if o in known]
        may = last < self.start or (
            known[:1] <= [max(first, self.start)]
            and last in known
            and all(self.holder(o) == member for o in asked)
        )
        before = self.partition.records()
        change = self.partition.acknowledge(member, [Acknowledgement(first, last, [1])], self.now_ms)
        assert may is isinstance(change, Change)
        if isinstance(change, Refusal):
            assert change.code in (ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST)
            assert self.partition.records() == before
            return
        for o in asked:
            self.lines[o].state = RecordState.ACKNOWLEDGED
            self.lines[o].change = change
        self.expect(change)

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        change = self.partition.release(member)
        for offset, line in self.lines.items():
            if line.state is RecordState.ACQUIRED and line.member == member:
                line.give_back(offset < self.start)
                line.change = change
        self.expect(change)

    def expect(self, change: Change) -> None:
        """The change writes exactly the lines that belong to it."""
        writes = {
            offset: (batch.state, batch.delivery_count)
            for batch in change.batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        mine = {offset: line for offset, line in self.lines.items() if line.change is change}
        assert writes == {offset: (line.state, line.count) for offset, line in mine.items()}
        assert change.start_offset == self.start
        self.changes.append(change)

    @rule(data=st.data(), is_written=st.sampled_from((True, True, False)))
    def settle(self, data: st.DataObject, is_written: bool) -> None:
        if self.changes:
            self.finish(self.changes.pop(data.draw(st.integers(0, len(self.changes) - 1))), is_written)

    def finish(self, change: Change, is_written: bool) -> None:
        if is_written:
            self.keep(change)
            change.commit()
        else:
            change.roll_back()
        for line in self.lines.values():
            if line.change is change:
                line.change = None
                if is_written or line.is_lost:
                    line.member = ""
                else:
                    line.state = RecordState.ACQUIRED

    def keep(self, change: Change) -> None:
        for first, last, state, count in change.batches:
            self.kept |= dict.fromkeys(range(first, last + 1), (state, count))
            if state is RecordState.ACKNOWLEDGED:
                self.accepted |= set(range(first, last + 1))
        self.kept_start = max(self.kept_start, change.start_offset)
        self.kept = {offset: kept for offset, kept in self.kept.items() if offset >= self.kept_start}

    @rule(by=st.sampled_from((1, 10, 40, 90, 150)), is_written=st.booleans())
    def wait(self, by: int, is_written: bool) -> None:
        self.now_ms += by
        expiry_ms = self.partition.next_expiry_ms
        change = self.partition.expire(self.now_ms)
        expired = []
        for offset, line in self.lines.items():
            if line.state is RecordState.ACQUIRED and line.deadline_ms <= self.now_ms:
                assert expiry_ms is not None
                assert expiry_ms <= line.deadline_ms
                line.give_back(offset < self.start)
                line.member = ""
                line.change = change
                expired.append(line)
        self.expect(change)
        for line in expired:
            line.change = None
        self.changes.pop()
        if is_written:
            self.keep(change)
            change.commit()
        else:
            change.roll_back()

    @rule()
    def learn_log_start(self) -> None:
        self.partition.log_start_moved(self.log_start)
        self.lose(0, self.log_start)

    @rule()
    def change_leader(self) -> None:
        self.changes = []
        self.load()

    @invariant()
    def agree(self) -> None:
        start, end = self.partition.start_offset, self.partition.end_offset
        assert self.start <= start <= end + 1
        for offset in range(self.start, start):
            line = self.lines.get(offset)
            assert line is None or offset < self.log_start or (line.state in DONE and line.change is None)
        self.start = start
        done_count = 0
        known = set()
        for first, last, state, count in self.partition.records():
            for offset in range(first, last + 1):
                line = self.line(offset)
                assert (state, count) == (line.state, line.count), offset
                known.add(offset)
                done_count += start <= offset and state in DONE
        assert self.partition.delivery_complete_count == done_count
        assert self.partition.in_flight_count in (0, end - start + 1)
        for offset in [offset for offset in self.lines if offset not in known]:
            line = self.lines.pop(offset)
            assert offset < start or (line.state, line.count) == (RecordState.AVAILABLE, 0)

    def teardown(self) -> None:
        """After any history, all remaining records can be delivered, and then nothing is in flight."""
        if not hasattr(self, "partition"):
            return
        for member in MEMBERS:
            self.leave(member)
        for change in self.changes:
            self.finish(change, is_written=True)
        self.log.append(OffsetRange(self.log_end, self.log_end))
        self.log_end += 1
        for _ in range(20 * self.log_end + 20):
            self.agree()
            if self.partition.start_offset >= self.log_end:
                break
            self.fetch("a", AcquireMode.BATCH_OPTIMIZED, 5, 5, 3)
            held = [offset for offset, line in self.lines.items() if self.holder(offset)]
            for offset in held:
                accepted = self.partition.acknowledge(
                    "a", [Acknowledgement(offset, offset, [1])], self.now_ms
                )
                assert isinstance(accepted, Change)
                self.lines[offset].state = RecordState.ACKNOWLEDGED
                self.lines[offset].change = accepted
                self.finish(accepted, is_written=True)
        assert self.partition.start_offset >= self.log_end
        assert self.partition.in_flight_count == 0


TestSharePartitionModel = SharePartitionModel.TestCase
TestSharePartitionModel.settings = settings(max_examples=120, stateful_step_count=50, deadline=None)
