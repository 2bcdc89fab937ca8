import asyncio
import random
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.cluster.commit import Commit
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.loading import IsOpen
from penstock.cluster.coordination.partition import CoordinatorPartition, InTransaction, StallChecks
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotEnoughReplicasAfterAppend
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.protocol.records.record import Record, iter_records
from penstock.runtime.clock import ManualClock
from penstock.runtime.completion import Completion
from penstock.storage.errors import AppendRejected, LogError, OffsetOutOfRange, StorageError
from penstock.storage.log.values import Appended, LogSlice
from penstock.storage.producers.transaction_permit import OpenTransaction


class SlowReplica:
    """A log in memory, whose high watermark a test moves."""

    def __init__(self, *batches: bytes, message_bytes_max: int = 1000) -> None:
        self.topic = "coordinated"
        self.partition = 0
        self.is_leader = True
        self.leader_epoch = 0
        self.batches = list(batches)
        self.append_count = 0
        self.refusal: LogError | None = None
        self.waiting: list[Commit] = []
        self.log = SimpleNamespace(
            config=SimpleNamespace(max_message_bytes=message_bytes_max),
            log_start_offset=0,
            log_end_offset=sum(header.record_count for b in batches for _, header in iter_batches(b)),
            read_cold=self.read_cold,
        )
        self.high_watermark = self.log.log_end_offset

    async def read_cold(self, offset: int, size_bytes_max: int, *, offset_limit: int) -> LogSlice:
        for each in self.batches:
            ((_, header),) = iter_batches(each)
            if header.base_offset <= offset < header.next_offset:
                return LogSlice(each, header.next_offset)
        raise AssertionError(f"nothing at {offset}")

    def append(self, records: bytearray, now_ms: int, **_how: object) -> Commit:
        commit = Commit(leader_epoch=0)
        if self.refusal is not None:
            commit.fail(self.refusal)
            return commit
        base = self.log.log_end_offset
        self.append_count += 1
        for position, header in iter_batches(records):
            self.log.log_end_offset += header.record_count
            self.batches.append(bytes(records[position : position + header.size_bytes]))
        commit.appended = Appended(
            base_offset=base,
            last_offset=self.log.log_end_offset - 1,
            leader_epoch=0,
            log_append_time_ms=-1,
            log_start_offset=0,
        )
        return self._wait(commit, self.log.log_end_offset - 1)

    def write_queued(self) -> None:
        """Nothing is queued: appends are written at once."""

    def commit_up_to(self, last_offset: int, *, leader_epoch: int) -> Commit:
        return self._wait(Commit(leader_epoch), last_offset)

    def _wait(self, commit: Commit, last_offset: int) -> Commit:
        commit.last_offset = last_offset
        if self.high_watermark > last_offset:
            commit.resolve(None)
        else:
            self.waiting.append(commit)
        return commit

    def move_high_watermark(self, offset: int) -> None:
        self.high_watermark = offset
        for commit in list(self.waiting):
            if commit.last_offset < offset:
                commit.resolve(None)


class Notes:
    """State that only writes down what it was told."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def replay(self, record: Record, producer_id: int) -> None:
        self.seen.append((record.offset, record.key, producer_id))

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self.seen.append((producer_id, is_commit))

    def skip_records(self, is_open: IsOpen) -> str:
        self.seen.append("skipped")
        return "Some are missing."


Partition = CoordinatorPartition[Notes]


def partition_of(replica: SlowReplica, on_failure: Callable[[Partition], None] = lambda _: None) -> Partition:
    return CoordinatorPartition(cast("Replica", replica), Notes(), ManualClock(), on_failure=on_failure)


def record(name: str, size: int = 1) -> NewRecord:
    return NewRecord(name.encode(), b"v" * size)


def change(partition: Partition, *records: NewRecord) -> Change:
    """Told to the state by the keys of its records."""
    return Change(records, lambda: partition.state.seen.extend(each.key for each in records))


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


async def turn() -> None:
    await asyncio.sleep(0)


def keys(batch: bytes) -> list[bytes | None]:
    return [each.key for each in iter_records(batch)]


def test_everything_in_the_log_is_replayed_in_order() -> None:
    replica = SlowReplica(
        build_batch([record("a"), record("b")]),
        build_batch([record("c")], base_offset=2, producer_id=9, producer_epoch=0, is_transactional=True),
        build_end_txn_batch(
            EndTxnMarker(is_commit=True, coordinator_epoch=0),
            producer_id=9,
            producer_epoch=0,
            timestamp=0,
            base_offset=3,
        ),
        build_batch([record("d")], base_offset=4, producer_id=5, producer_epoch=0, base_sequence=0),
    )
    partition = partition_of(replica)

    run(partition.load(asyncio.Semaphore(1)))

    assert partition.state.seen == [
        (0, b"a", -1),
        (1, b"b", -1),
        (2, b"c", 9),
        (9, True),
        (4, b"d", -1),
    ]
    assert partition.is_loaded


def test_a_load_goes_on_at_the_log_start_when_records_are_deleted_meanwhile() -> None:
    replica = SlowReplica(*(build_batch([record(name)], base_offset=n) for n, name in enumerate("abcd")))
    read_cold = replica.read_cold

    async def delete_and_read(offset: int, size_bytes_max: int, *, offset_limit: int) -> LogSlice:
        if offset == 1:
            replica.log.log_start_offset = 3
            raise OffsetOutOfRange(offset, 3, 4)
        return await read_cold(offset, size_bytes_max, offset_limit=offset_limit)

    replica.log.read_cold = delete_and_read
    partition = partition_of(replica)

    run(partition.load(asyncio.Semaphore(1)))

    assert partition.state.seen == [(0, b"a", -1), (3, b"d", -1)]
    assert partition.is_loaded


def test_a_partition_is_loaded_when_what_it_read_is_committed() -> None:
    async def story() -> None:
        replica = SlowReplica(build_batch([record("a")]))
        replica.high_watermark = 0
        partition = partition_of(replica)
        loading = asyncio.ensure_future(partition.load(asyncio.Semaphore(1)))
        while not replica.waiting:
            await turn()
        assert not partition.is_loaded

        replica.move_high_watermark(1)
        await loading

        assert partition.is_loaded

    run(story())


def test_a_partition_is_loaded_however_often_too_few_replicas_are_in_sync_meanwhile() -> None:
    """Seed 2 of the simulated clusters: it had no coordinator until its leadership moved."""

    async def story() -> None:
        replica = SlowReplica(build_batch([record("a")]))
        replica.high_watermark = 0
        clock = ManualClock()
        partition = CoordinatorPartition(cast("Replica", replica), Notes(), clock)
        loading = asyncio.ensure_future(partition.load(asyncio.Semaphore(1)))
        for count in (1, 2):
            while len(replica.waiting) < count:
                await turn()
                clock.advance(100)
            replica.waiting[-1].fail(NotEnoughReplicasAfterAppend("too few"))
        await turn()
        replica.move_high_watermark(1)
        while not loading.done():
            await turn()
            clock.advance(100)

        assert partition.is_loaded

    run(story())


def test_writes_of_one_turn_become_one_batch_and_are_acknowledged_when_it_is_committed() -> None:
    async def story() -> None:
        replica = SlowReplica()
        partition = partition_of(replica)
        first = partition.write(change(partition, record("a")))
        second = partition.write(change(partition, record("b"), record("c")))
        assert replica.batches == []
        await turn()
        assert [keys(each) for each in replica.batches] == [[b"a", b"b", b"c"]]
        assert not first.done()

        replica.move_high_watermark(3)

        assert first.done()
        assert second.done()

    run(story())


def test_writes_are_combined_while_an_earlier_batch_is_in_flight() -> None:
    async def story() -> None:
        replica = SlowReplica()
        partition = partition_of(replica)
        first = partition.write(change(partition, record("a")))
        await turn()
        later = [partition.write(change(partition, record("b")))]
        await turn()
        later.append(partition.write(change(partition, record("c"))))
        await turn()
        assert [keys(each) for each in replica.batches] == [[b"a"]]

        replica.move_high_watermark(1)

        assert first.done()
        assert [keys(each) for each in replica.batches] == [[b"a"], [b"b", b"c"]]
        assert not any(each.done() for each in later)
        replica.move_high_watermark(3)
        assert all(each.done() for each in later)

    run(story())


def test_a_change_that_does_not_fit_into_one_batch_is_split_and_appended_together() -> None:
    async def story() -> None:
        replica = SlowReplica(message_bytes_max=1000)
        partition = partition_of(replica)
        written = partition.write(change(partition, *(record(name, 300) for name in "abcd")))
        await turn()
        assert [keys(each) for each in replica.batches] == [[b"a", b"b"], [b"c", b"d"]]
        assert replica.append_count == 1

        replica.move_high_watermark(2)
        assert not written.done()
        replica.move_high_watermark(4)
        assert written.done()

    run(story())


def test_the_records_of_one_change_are_in_one_batch_when_they_fit() -> None:
    async def story() -> None:
        replica = SlowReplica(message_bytes_max=1000)
        partition = partition_of(replica)
        partition.write(change(partition, record("other", 700)))
        partition.write(change(partition, record("member gone", 10), record("next epoch", 100)))
        await turn()

        assert [keys(each) for each in replica.batches] == [[b"other"], [b"member gone", b"next epoch"]]

    run(story())


def test_a_record_that_is_too_large_is_refused_before_anything_is_written_or_changed() -> None:
    async def story() -> None:
        replica, failed = SlowReplica(message_bytes_max=1000), list[Partition]()
        partition = partition_of(replica, failed.append)
        for write in (partition.write, partition.submit, in_a_transaction(partition)):
            with pytest.raises(CoordinatorError, match="1000") as refused:
                write(change(partition, record("a"), record("b", 1001)))
            assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        await turn()

        assert (replica.batches, partition.state.seen, failed) == ([], [], [])

    run(story())


def test_a_record_of_just_the_size_that_is_allowed_is_taken_although_it_does_not_compress() -> None:
    async def story() -> None:
        replica = SlowReplica(message_bytes_max=1000)
        partition: Partition = CoordinatorPartition(
            cast("Replica", replica), Notes(), ManualClock(), codec=Codec.GZIP
        )
        noise = random.Random(1).randbytes(partition.payload_bytes_max)
        partition.write(change(partition, NewRecord(b"", noise)))
        await turn()

        assert len(replica.batches[0]) <= 1000

    run(story())


def in_a_transaction(partition: Partition) -> Callable[[Change], Completion[None]]:
    permit = OpenTransaction(9, 0, partition.leader_epoch)
    return lambda made: partition.write_in_transaction(made, InTransaction(9, 0, permit))


def test_records_of_a_transaction_are_appended_together_before_the_state_changes() -> None:
    async def story() -> None:
        replica = SlowReplica(message_bytes_max=1000)
        partition = partition_of(replica)
        before = partition.write(change(partition, record("before")))
        written = in_a_transaction(partition)(change(partition, *(record(name, 300) for name in "abcd")))

        assert [keys(each) for each in replica.batches] == [[b"before"], [b"a", b"b"], [b"c", b"d"]]
        assert replica.append_count == 2
        assert partition.state.seen == [b"before", b"a", b"b", b"c", b"d"]
        replica.move_high_watermark(3)
        assert (before.done(), written.is_done) == (True, False)
        replica.move_high_watermark(5)
        assert written.is_done

    run(story())


def test_a_refused_write_in_a_transaction_changes_nothing_and_the_partition_continues() -> None:
    async def story() -> None:
        replica, failed = SlowReplica(message_bytes_max=1000), list[Partition]()
        partition = partition_of(replica, failed.append)
        replica.refusal = AppendRejected(ErrorCode.INVALID_TXN_STATE, "it has ended")
        with pytest.raises(CoordinatorError) as refused:
            in_a_transaction(partition)(change(partition, *(record(name, 300) for name in "abcd")))

        assert refused.value.code is ErrorCode.INVALID_TXN_STATE
        assert (replica.batches, partition.state.seen, failed) == ([], [], [])
        assert partition.pending_commit() is None

    run(story())


def test_a_broker_that_no_longer_leads_takes_nothing_and_shows_nothing() -> None:
    async def story() -> None:
        for is_leader, leader_epoch in ((False, 1), (True, 1), (False, 0)):
            replica = SlowReplica()
            partition = partition_of(replica)
            replica.is_leader, replica.leader_epoch = is_leader, leader_epoch
            for write in (partition.write, partition.submit, in_a_transaction(partition)):
                with pytest.raises(CoordinatorError) as refused:
                    write(change(partition, record("a")))
                assert refused.value.code is ErrorCode.NOT_COORDINATOR
            await turn()

            assert (replica.batches, partition.state.seen) == ([], [])
            await is_refused_as_not_coordinator(partition.pending_commit())

    run(story())


def test_a_partition_that_has_ended_shows_nothing() -> None:
    async def story() -> None:
        partition = partition_of(SlowReplica())
        partition.end()

        await is_refused_as_not_coordinator(partition.pending_commit())

    run(story())


async def is_refused_as_not_coordinator(settled: Completion[None] | None) -> None:
    assert settled is not None
    with pytest.raises(CoordinatorError) as refused:
        await settled
    assert refused.value.code is ErrorCode.NOT_COORDINATOR


def test_a_reader_waits_for_what_it_saw_and_not_for_later_writes() -> None:
    async def story() -> None:
        replica = SlowReplica()
        partition = partition_of(replica)
        assert partition.pending_commit() is None
        partition.write(change(partition, record("a")))
        before_append = partition.pending_commit()
        await turn()
        after_append = partition.pending_commit()
        partition.write(change(partition, record("b")))
        await turn()
        assert before_append is not None
        assert after_append is not None
        waiting = [before_append, after_append]
        assert [each.is_done for each in waiting] == [False, False]

        replica.move_high_watermark(1)

        assert [each.is_done for each in waiting] == [True, True]

    run(story())


def test_a_write_that_the_log_refuses_ends_the_partition() -> None:
    async def story() -> None:
        replica = SlowReplica()
        failed: list[Partition] = []

        def give_up(partition: Partition) -> None:
            failed.append(partition)
            partition.end()

        partition = partition_of(replica, give_up)
        in_flight = partition.write(change(partition, record("a")))
        await turn()
        refused = partition.write(change(partition, record("b")))
        replica.refusal = StorageError("no room")
        replica.move_high_watermark(1)

        await in_flight
        assert failed == [partition]
        with pytest.raises(CoordinatorError) as told:
            await refused
        assert told.value.code is ErrorCode.NOT_COORDINATOR
        with pytest.raises(CoordinatorError):
            partition.write(change(partition, record("c")))

    run(story())


def test_a_log_that_fails_after_the_append_ends_the_partition_too() -> None:
    async def story() -> None:
        replica = SlowReplica()
        failed: list[Partition] = []
        partition = partition_of(replica, failed.append)
        written = partition.write(change(partition, record("a")))
        await turn()

        replica.waiting[0].fail(StorageError("the disk is gone"))

        assert failed == [partition]
        with pytest.raises(CoordinatorError):
            await written

    run(story())


def test_waiters_fail_when_another_broker_leads() -> None:
    async def story() -> None:
        replica = SlowReplica()
        partition = partition_of(replica)
        in_flight = partition.write(change(partition, record("a")))
        await turn()
        unwritten = partition.write(change(partition, record("b")))

        partition.end()
        await turn()

        for each in (in_flight, unwritten):
            with pytest.raises(CoordinatorError) as told:
                await each
            assert told.value.code is ErrorCode.NOT_COORDINATOR
        assert len(replica.batches) == 1, "what was not written stays unwritten"
        replica.move_high_watermark(1)  # too late for anyone to hear

    run(story())


def with_timeout(replica: SlowReplica, clock: ManualClock) -> Partition:
    checks = StallChecks[Notes](clock, timeout_ms=1000)
    return CoordinatorPartition(cast("Replica", replica), Notes(), clock, stall_checks=checks)


async def pass_time(clock: ManualClock, duration_ms: int) -> None:
    for _ in range(duration_ms // 100):
        await turn()
        clock.advance(100)
    await turn()


def test_a_write_that_is_not_committed_in_time_fails_but_counts_if_it_is_committed_later() -> None:
    async def story() -> None:
        replica, clock = SlowReplica(), ManualClock()
        partition = with_timeout(replica, clock)
        written = partition.submit(change(partition, record("a")))
        await pass_time(clock, 900)
        assert [written.is_done] == [False]

        await pass_time(clock, 200)

        assert written.is_done
        with pytest.raises(CoordinatorError) as refused:
            await written
        assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert partition.pending_commit() is not None
        replica.move_high_watermark(1)
        assert partition.pending_commit() is None

    run(story())


def test_a_write_behind_one_that_timed_out_times_out_too() -> None:
    async def story() -> None:
        replica, clock = SlowReplica(), ManualClock()
        partition = with_timeout(replica, clock)
        writes = [partition.submit(change(partition, record("in flight")))]
        await turn()
        writes += [partition.submit(change(partition, record("queued")))]
        await pass_time(clock, 1100)
        assert all(each.is_done for each in writes)

        late = partition.submit(change(partition, record("queued after the timeout")))
        await pass_time(clock, 1100)

        assert late.is_done
        assert late.error is not None

    run(story())


def test_writes_do_not_time_out_while_the_log_commits_others() -> None:
    async def story() -> None:
        replica, clock = SlowReplica(), ManualClock()
        partition = with_timeout(replica, clock)
        first = partition.submit(change(partition, record("a")))
        await pass_time(clock, 100)
        behind = partition.submit(change(partition, record("b")))
        await pass_time(clock, 700)
        replica.move_high_watermark(1)
        await pass_time(clock, 800)  # it has waited for 1500 ms by now
        assert not behind.is_done

        replica.move_high_watermark(2)

        assert (first.error, behind.error, behind.is_done) == (None, None, True)

    run(story())


def test_writes_do_not_time_out_because_a_turn_of_the_loop_takes_longer_than_the_timeout() -> None:
    """10,000 offset commits a second: the loop read all that had arrived before it looked at the disk again."""

    async def story() -> None:
        replica, clock = SlowReplica(), ManualClock()
        partition = with_timeout(replica, clock)
        written = partition.submit(change(partition, record("a")))
        await turn()

        for _ in range(5):
            clock.advance(60_000)
            await turn()
        replica.move_high_watermark(1)

        await written

    run(story())
