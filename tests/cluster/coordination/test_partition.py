import asyncio
from typing import cast

import pytest

from penstock.cluster.coordination.errors import CoordinatorError
from penstock.cluster.coordination.partition import CoordinatorPartition, StallChecks
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotEnoughReplicasAfterAppend
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import build_batch
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.runtime.clock import ManualClock
from penstock.runtime.completion import Completion
from penstock.storage.errors import AppendRejected, OffsetOutOfRange, StorageError
from penstock.storage.log.values import LogSlice
from tests.cluster.coordination.slow_replica import (
    Partition,
    RecordedState,
    SlowReplica,
    change,
    in_a_transaction,
    keys,
    partition_of,
    record,
    run,
    turn,
)


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


def test_a_load_continues_at_the_log_start_when_records_are_deleted_during_it() -> None:
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


def test_a_partition_is_loaded_once_all_records_that_it_read_are_committed() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_a_partition_is_loaded_however_often_too_few_replicas_are_in_sync_during_the_load() -> None:
    """Seed 2 of the simulated clusters: it had no coordinator until its leadership moved."""

    async def scenario() -> None:
        replica = SlowReplica(build_batch([record("a")]))
        replica.high_watermark = 0
        clock = ManualClock()
        partition = CoordinatorPartition(cast("Replica", replica), RecordedState(), clock)
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

    run(scenario())


def test_writes_of_one_turn_become_one_batch_and_are_acknowledged_when_it_is_committed() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_writes_are_combined_while_an_earlier_batch_is_in_flight() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_records_of_a_transaction_are_appended_together_before_the_state_changes() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_a_refused_write_in_a_transaction_changes_nothing_and_the_partition_continues() -> None:
    async def scenario() -> None:
        replica, failed = SlowReplica(message_bytes_max=1000), list[Partition]()
        partition = partition_of(replica, failed.append)
        replica.refusal = AppendRejected(ErrorCode.INVALID_TXN_STATE, "it has ended")
        with pytest.raises(CoordinatorError) as failure:
            in_a_transaction(partition)(change(partition, *(record(name, 300) for name in "abcd")))

        assert failure.value.code is ErrorCode.INVALID_TXN_STATE
        assert (replica.batches, partition.state.seen, failed) == ([], [], [])
        assert partition.pending_commit() is None

    run(scenario())


def test_a_broker_that_no_longer_leads_refuses_writes_and_reads() -> None:
    async def scenario() -> None:
        for is_leader, leader_epoch in ((False, 1), (True, 1), (False, 0)):
            replica = SlowReplica()
            partition = partition_of(replica)
            replica.is_leader, replica.leader_epoch = is_leader, leader_epoch
            for write in (partition.write, partition.submit, in_a_transaction(partition)):
                with pytest.raises(CoordinatorError) as failure:
                    write(change(partition, record("a")))
                assert failure.value.code is ErrorCode.NOT_COORDINATOR
            await turn()

            assert (replica.batches, partition.state.seen) == ([], [])
            await is_refused_as_not_coordinator(partition.pending_commit())

    run(scenario())


def test_a_closed_partition_refuses_reads() -> None:
    async def scenario() -> None:
        partition = partition_of(SlowReplica())
        partition.end()

        await is_refused_as_not_coordinator(partition.pending_commit())

    run(scenario())


async def is_refused_as_not_coordinator(settled: Completion[None] | None) -> None:
    assert settled is not None
    with pytest.raises(CoordinatorError) as failure:
        await settled
    assert failure.value.code is ErrorCode.NOT_COORDINATOR


def test_a_reader_waits_for_the_writes_that_it_saw_and_not_for_later_ones() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_a_write_that_the_log_refuses_closes_the_partition() -> None:
    async def scenario() -> None:
        replica = SlowReplica()
        failed: list[Partition] = []

        def fail(partition: Partition) -> None:
            failed.append(partition)
            partition.end()

        partition = partition_of(replica, fail)
        in_flight = partition.write(change(partition, record("a")))
        await turn()
        refused = partition.write(change(partition, record("b")))
        replica.refusal = StorageError("no room")
        replica.move_high_watermark(1)

        await in_flight
        assert failed == [partition]
        with pytest.raises(CoordinatorError) as failure:
            await refused
        assert failure.value.code is ErrorCode.NOT_COORDINATOR
        with pytest.raises(CoordinatorError):
            partition.write(change(partition, record("c")))

    run(scenario())


def test_a_log_that_fails_after_the_append_closes_the_partition_too() -> None:
    async def scenario() -> None:
        replica = SlowReplica()
        failed: list[Partition] = []
        partition = partition_of(replica, failed.append)
        written = partition.write(change(partition, record("a")))
        await turn()

        replica.waiting[0].fail(StorageError("the disk is gone"))

        assert failed == [partition]
        with pytest.raises(CoordinatorError):
            await written

    run(scenario())


def test_waiters_fail_when_another_broker_leads() -> None:
    async def scenario() -> None:
        replica = SlowReplica()
        partition = partition_of(replica)
        in_flight = partition.write(change(partition, record("a")))
        await turn()
        unwritten = partition.write(change(partition, record("b")))

        partition.end()
        await turn()

        for each in (in_flight, unwritten):
            with pytest.raises(CoordinatorError) as failure:
                await each
            assert failure.value.code is ErrorCode.NOT_COORDINATOR
        assert len(replica.batches) == 1, "the unwritten change stays unwritten"
        replica.move_high_watermark(1)  # after all waiters have failed

    run(scenario())


def with_timeout(replica: SlowReplica, clock: ManualClock) -> Partition:
    checks = StallChecks[RecordedState](clock, timeout_ms=1000)
    return CoordinatorPartition(cast("Replica", replica), RecordedState(), clock, stall_checks=checks)


async def pass_time(clock: ManualClock, duration_ms: int) -> None:
    for _ in range(duration_ms // 100):
        await turn()
        clock.advance(100)
    await turn()


def test_a_write_that_is_not_committed_in_time_fails_but_counts_if_it_is_committed_later() -> None:
    async def scenario() -> None:
        replica, clock = SlowReplica(), ManualClock()
        partition = with_timeout(replica, clock)
        written = partition.submit(change(partition, record("a")))
        await pass_time(clock, 900)
        assert [written.is_done] == [False]

        await pass_time(clock, 200)

        assert written.is_done
        with pytest.raises(CoordinatorError) as failure:
            await written
        assert failure.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert partition.pending_commit() is not None
        replica.move_high_watermark(1)
        assert partition.pending_commit() is None

    run(scenario())


def test_a_write_queued_after_one_that_timed_out_times_out_too() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_writes_do_not_time_out_while_the_log_commits_others() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_writes_do_not_time_out_because_a_turn_of_the_loop_takes_longer_than_the_timeout() -> None:
    """10,000 offset commits a second: the loop read all that had arrived before it looked at the disk again."""

    async def scenario() -> None:
        replica, clock = SlowReplica(), ManualClock()
        partition = with_timeout(replica, clock)
        written = partition.submit(change(partition, record("a")))
        await turn()

        for _ in range(5):
            clock.advance(60_000)
            await turn()
        replica.move_high_watermark(1)

        await written

    run(scenario())
