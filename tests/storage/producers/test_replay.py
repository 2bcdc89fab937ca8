"""Damaged batches during the replay of producers: the state is unverified, and known again after a repair."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.runtime.offload import InlineOffload
from penstock.storage.errors import AppendRejected
from penstock.storage.file_cache import FileCache
from penstock.storage.files import RealFileSystem
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.log.values import LogSlice, Origin
from penstock.storage.producers.snapshot import encode_snapshot
from penstock.storage.recovery.loader import Checkpointed, load_log
from penstock.storage.segment.transaction_index import AbortedTransaction
from tests.storage.logs import NOW_MS, append, append_records, checkpoint, close, new_log, sync

T = TypeVar("T")

CHECKPOINT = 2
MARKER_OF_5 = 4
"""The abort of producer 5, which recovery replays."""


def end(log: Log, producer_id: int, *, is_commit: bool) -> None:
    marker = EndTxnMarker(is_commit=is_commit, coordinator_epoch=0)
    batch = build_end_txn_batch(marker, producer_id=producer_id, producer_epoch=0, timestamp=NOW_MS)
    append_records(log, batch, leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR)


def write(log: Log, producer_id: int, sequence: int, *, is_transactional: bool = True) -> None:
    append(
        log,
        "a",
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Two producers with transactions, of which some are aborted, and one without; over several segments."""
    log = new_log(str(tmp_path), segment_bytes=400, segment_index_bytes=1000)
    write(log, 5, 0)
    end(log, 5, is_commit=False)
    checkpoint(log)
    write(log, 5, 1)
    write(log, 6, 0)
    end(log, 5, is_commit=False)
    write(log, 7, 0, is_transactional=False)
    write(log, 5, 2)
    end(log, 6, is_commit=False)
    end(log, 5, is_commit=True)
    write(log, 6, 1)
    write(log, 7, 1, is_transactional=False)
    end(log, 6, is_commit=True)
    append(log, "the last")
    sync(log)
    log.producers.advance_high_watermark(log.log_end_offset)
    return log


class SlowOffload(InlineOffload):
    """Offloaded work takes so long that the test's actions run during it, once each."""

    def __init__(self, *events: Callable[[], None]) -> None:
        self.events = list(events)

    async def run(self, work: Callable[[], T]) -> T:
        if self.events:
            self.events.pop(0)()
        return work()


def recovered(log: Log, offload: InlineOffload | None = None) -> Log:
    cache = FileCache(RealFileSystem())
    checkpointed = Checkpointed(
        was_clean=False, recovery_point=log.recovery_point, committed_offset=log.log_end_offset
    )
    loaded = load_log(cache, log.directory, log.config, checkpointed, NOW_MS)
    again = Log("t", 0, log.directory, log.config, loaded=loaded, offload=offload)
    again.producers.advance_high_watermark(again.log_end_offset)
    return again


def corrupt(log: Log, offset: int) -> bytes:
    """Returns the original batch."""
    segment = log.segments[log.chain.number_of(offset)]
    with open(segment.log_path, "r+b") as file:
        content = file.read(segment.size_bytes)
        for position, header in iter_batches_strict(content):
            if header.base_offset == offset:
                file.seek(position + header.size_bytes - 1)
                file.write(bytes([content[position + header.size_bytes - 1] ^ 0x40]))
                return content[position : position + header.size_bytes]
    raise AssertionError(f"no batch at {offset}")


def aborted(log: Log) -> list[AbortedTransaction]:
    return log.aborted_transactions(0, log.log_end_offset)


def rebuild_producers(log: Log) -> bool:
    return asyncio.run(LogRepair(log).rebuild_producer_state(now_ms=NOW_MS))


def repair(log: Log, batch: bytes) -> None:
    [damage] = log.damaged
    assert LogRepair(log).repair(damage, batch)
    assert rebuild_producers(log)
    log.producers.advance_high_watermark(log.log_end_offset)


def test_no_offset_is_stable_after_a_marker_that_recovery_could_not_read(log: Log) -> None:
    corrupt(log, MARKER_OF_5)
    again = recovered(log)
    assert log.first_unstable_offset is None
    assert again.first_unstable_offset == 2  # where the transaction began that it may have ended


def test_unverified_producers_get_a_retriable_error_and_others_continue(log: Log) -> None:
    corrupt(log, MARKER_OF_5)
    again = recovered(log)
    with pytest.raises(AppendRejected) as refused:
        write(again, 7, 2, is_transactional=False)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(AppendRejected):
        end(again, 6, is_commit=False)
    assert append(again, "plain").base_offset == log.log_end_offset


@pytest.mark.parametrize("offset", range(CHECKPOINT, 12))
def test_producers_are_known_again_after_a_batch_is_repaired(log: Log, offset: int) -> None:
    batch = corrupt(log, offset)
    again = recovered(log)
    repair(again, batch)
    assert again.first_unstable_offset is None
    assert aborted(again) == aborted(log)
    assert encode_snapshot(again.producers.snapshot()) == encode_snapshot(log.producers.snapshot())
    checkpoint(again)
    assert aborted(recovered(again)) == aborted(log)


def test_unverified_producers_are_not_saved_in_a_snapshot(log: Log) -> None:
    batch = corrupt(log, MARKER_OF_5)
    unverified = recovered(log)
    append(unverified, "plain")
    close(unverified)
    assert unverified.recovery_point == CHECKPOINT
    again = recovered(unverified)
    assert again.first_unstable_offset == 2
    repair(again, batch)
    assert aborted(again) == aborted(log)


@pytest.mark.parametrize("offset", range(CHECKPOINT, 12))
def test_producers_are_known_again_after_a_repair_below_the_recovery_point(log: Log, offset: int) -> None:
    """A log with missing records is checkpointed at once, too."""
    batch = corrupt(log, offset)
    unverified = recovered(log)
    damaged = list(unverified.damaged)
    job = LogCheckpoint(unverified).begin(is_without_producers=True)
    assert job is not None
    job.run()
    LogCheckpoint(unverified).finish(job)
    assert unverified.recovery_point == log.log_end_offset
    again = recovered(unverified)
    assert again.producers.unverified_from is not None
    sizes = {each.base_offset: each.size_bytes for each in again.segments}
    again.damaged.remember(damaged, sizes, 0, again.log_end_offset)
    repair(again, batch)
    assert aborted(again) == aborted(log)
    assert encode_snapshot(again.producers.snapshot()) == encode_snapshot(log.producers.snapshot())


def test_a_transaction_aborted_before_the_repair_is_known_after_it(log: Log) -> None:
    batch = corrupt(log, MARKER_OF_5)
    follower = recovered(log)
    write(log, 7, 2)
    end(log, 7, is_commit=False)
    found = log.read(13, 1 << 20, offset_limit=log.log_end_offset)
    assert isinstance(found, LogSlice)
    follower.append_replicated(bytes(found.records), now_ms=NOW_MS)
    repair(follower, batch)
    assert aborted(follower) == aborted(log)


def test_producers_stay_unverified_until_the_last_damaged_batch_is_repaired(log: Log) -> None:
    corrupt(log, MARKER_OF_5)
    corrupt(log, 7)
    again = recovered(log)
    assert not rebuild_producers(again)
    again.damaged.clear()  # as if it had been repaired, but the bytes are still damaged
    assert not rebuild_producers(again)
    assert again.first_unstable_offset == 2


def test_a_truncation_that_replays_a_corrupted_batch_reports_unverified_producers(log: Log) -> None:
    batch = corrupt(log, 5)
    suspected: list[bool] = []
    log.on_suspicion = lambda: suspected.append(True)
    log.truncate_to(10, now_ms=NOW_MS)
    log.producers.advance_high_watermark(10)
    assert suspected
    assert log.first_unstable_offset == 3  # producer 6 had a transaction open there
    again = recovered(log)
    repair(again, batch)
    assert [each.producer_id for each in aborted(again)] == [5, 5, 6]


def test_a_corrupted_batch_below_a_snapshot_leaves_producers_verified(log: Log) -> None:
    corrupt(log, 1)
    again = recovered(log)
    assert again.producers.unverified_from is None
    assert aborted(again) == aborted(log)


def followed(follower: Log, leader: Log) -> None:
    """Fetch all records that the follower lacks."""
    while follower.log_end_offset < leader.log_end_offset:
        found = leader.read(follower.log_end_offset, 1 << 20, offset_limit=leader.log_end_offset)
        assert isinstance(found, LogSlice)
        follower.append_replicated(bytes(found.records), now_ms=NOW_MS)


def test_batches_appended_while_a_thread_replays_are_known_too(log: Log) -> None:
    batch = corrupt(log, MARKER_OF_5)
    offload = SlowOffload()
    follower = recovered(log, offload)

    def append_first() -> None:
        write(log, 7, 2)
        write(log, 5, 3)
        end(log, 7, is_commit=False)
        followed(follower, log)

    def append_second() -> None:
        end(log, 5, is_commit=False)
        write(log, 7, 3)
        end(log, 7, is_commit=True)
        followed(follower, log)
        sync(log)
        log.producers.advance_high_watermark(log.log_end_offset)

    segment_count = len(follower.segments[follower.chain.number_of(CHECKPOINT) :])
    waits = [lambda: None] * (segment_count - 1)
    offload.events = [append_first, *waits, append_second]  # in the first round and in the second
    repair(follower, batch)
    assert offload.events == []
    assert follower.first_unstable_offset is None
    assert aborted(follower) == aborted(log)
    assert [each.producer_id for each in aborted(follower)][-2:] == [7, 5]
    assert encode_snapshot(follower.producers.snapshot()) == encode_snapshot(log.producers.snapshot())


def test_a_truncation_while_a_thread_replays_discards_its_result(log: Log) -> None:
    batch = corrupt(log, MARKER_OF_5)
    offload = SlowOffload()
    again = recovered(log, offload)

    def truncate() -> None:
        again.truncate_to(7, now_ms=NOW_MS)

    offload.events = [lambda: None, truncate]
    repair(again, batch)
    assert again.producers.end_offset == again.log_end_offset == 7
    assert again.first_unstable_offset == 3  # of producer 6, whose end was cut off
    assert [(each.producer_id, each.last_offset) for each in aborted(again)] == [(5, 1), (5, 4)]


def test_a_truncation_between_the_repair_and_the_replay_hides_no_abort(log: Log) -> None:
    batch = corrupt(log, MARKER_OF_5)
    again = recovered(log)
    [damage] = again.damaged
    assert LogRepair(again).repair(damage, batch)
    again.truncate_to(7, now_ms=NOW_MS)
    assert again.producers.unverified_from is not None
    assert rebuild_producers(again)
    assert [(each.producer_id, each.last_offset) for each in aborted(again)] == [(5, 1), (5, 4)]


def test_a_truncation_below_the_corrupted_batch_leaves_producers_verified(log: Log) -> None:
    corrupt(log, 9)
    again = recovered(log)
    assert again.first_unstable_offset == 9
    again.truncate_to(9, now_ms=NOW_MS)
    assert again.producers.unverified_from is None
    assert aborted(again) == aborted(log)


def test_aborts_before_the_newest_snapshot_are_reported_when_recovery_would_begin_before_it(log: Log) -> None:
    write(log, 6, 2)
    end(log, 6, is_commit=False)
    checkpoint(log)
    write(log, 5, 3)
    end(log, 5, is_commit=False)
    append(log, "the very last")
    expected = aborted(log)
    batch = corrupt(log, 15)
    log.lower_recovery_point(0)
    log.truncate_to(17, now_ms=NOW_MS)  # reads again what came after the checkpoint
    assert log.producers.unverified_from is not None
    log.damaged.clear()  # as if a scrub had found it and another replica had repaired it
    segment = log.segments[log.chain.number_of(15)]
    position = segment.file().read(segment.size_bytes, 0).index(batch[:61])
    log.chain.overwrite(segment, batch, position)
    assert rebuild_producers(log)
    assert aborted(log) == expected


def test_the_replay_is_repeated_when_the_recovery_point_is_lowered_during_it(log: Log) -> None:
    batch = corrupt(log, MARKER_OF_5)
    offload = SlowOffload()
    again = recovered(log, offload)
    offload.events = [lambda: None, lambda: again.lower_recovery_point(0)]
    repair(again, batch)
    assert again.first_unstable_offset is None
    assert aborted(again) == aborted(log)


def test_a_log_closed_while_a_thread_replays_stays_unverified(log: Log) -> None:
    batch = corrupt(log, MARKER_OF_5)
    offload = SlowOffload()
    again = recovered(log, offload)
    [damage] = again.damaged
    assert LogRepair(again).repair(damage, batch)
    offload.events = [lambda: again.abandon("of the test")]
    assert not rebuild_producers(again)
    assert again.producers.unverified_from is not None
