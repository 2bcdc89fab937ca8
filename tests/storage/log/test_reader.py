"""Reads of a log by offset."""

import asyncio
from pathlib import Path

import pytest

from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.storage.errors import LogCorrupt, OffsetOutOfRange
from penstock.storage.log.log import Log
from penstock.storage.log.values import LogSlice, Origin
from tests.storage.damaged_log import (
    COUNT,
    SIZE,
    reopened_with_damage,
)
from tests.storage.logs import (
    NOW_MS,
    append,
    append_records,
    batch_of,
    close,
    new_log,
    read,
    reopened,
    sync,
    values_in,
)


def test_a_read_begins_with_the_batch_that_contains_the_offset(log: Log) -> None:
    append(log, "a", "b")
    append(log, "c", "d")
    assert values_in(read(log, 3)) == ["c", "d"]


def test_a_read_ends_at_the_limit_with_a_whole_batch(log: Log) -> None:
    append(log, "a", "b")
    append(log, "c", "d")
    assert values_in(read(log, 0, limit=3)) == ["a", "b"]
    assert read(log, 2, limit=3).records == b""


def test_a_read_at_the_end_is_empty_and_one_beyond_it_fails(log: Log) -> None:
    append(log, "a")
    assert read(log, 1).records == b""
    with pytest.raises(OffsetOutOfRange):
        read(log, 2)


def test_old_and_new_records_read_the_same_with_and_without_the_tail(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_bytes=4_000, index_interval_bytes=200)
    for number in range(200):
        append(log, *(f"{number}.{part}" for part in range(number % 3 + 1)))
    sync(log)
    for size_max in (1, 150, 1_000, 100_000):
        for offset in range(0, log.log_end_offset, 7):
            from_tail = read(log, offset, size_max)
            log.release()
            from_index = read(log, offset, size_max)
            assert values_in(from_index) == values_in(from_tail)
            assert from_index.next_offset == from_tail.next_offset


def test_a_batch_larger_than_the_limit_is_returned_only_if_at_least_one_is_wanted(log: Log) -> None:
    append(log, "a" * 1_000)
    for _ in ("from the tail", "from the index"):
        assert values_in(read(log, 0, 100)) == ["a" * 1_000]
        found = log.read(0, 100, offset_limit=1, at_least_one=False)
        assert getattr(found, "records", None) == b""
        log.release()


def test_a_gap_in_the_offsets_is_skipped(log: Log) -> None:
    append(log, "a")
    log.append_replicated(batch_of("b", base_offset=10), now_ms=NOW_MS)
    assert values_in(read(log, 5)) == ["b"]
    log.release()
    assert values_in(read(log, 5)) == ["b"]


def test_aborted_transactions_are_found_before_and_after_the_segment_is_released(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=3)
    fields = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
    append(log, "a", base_sequence=0, **fields)
    unstable_before = log.first_unstable_offset
    append(log, "b")
    abort = build_end_txn_batch(
        EndTxnMarker(is_commit=False, coordinator_epoch=0), producer_id=5, producer_epoch=0, timestamp=NOW_MS
    )
    append_records(log, abort, leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR)
    log.producers.advance_high_watermark(log.log_end_offset)
    assert (unstable_before, log.first_unstable_offset) == (0, None)
    for _ in range(2):
        [aborted] = log.aborted_transactions(0, 3)
        assert (aborted.producer_id, aborted.first_offset, aborted.last_offset) == (5, 0, 2)
        log.release()
    assert reopened(log).aborted_transactions(0, 3) == [aborted]


def test_a_checked_read_from_memory_verifies_records_that_this_process_did_not_write(tmp_path: Path) -> None:
    again, suspicions = reopened_with_damage(tmp_path, 4)
    found = again.read(0, 1 << 20, offset_limit=COUNT, check_crc=True)
    assert values_in(read(again, 0)) == [str(number) for number in range(COUNT)], (
        "a consumer checks by itself"
    )
    assert getattr(found, "next_offset", None) == 4
    with pytest.raises(LogCorrupt):
        again.read(4, 1 << 20, offset_limit=COUNT, check_crc=True)
    assert suspicions


@pytest.mark.parametrize("is_rolled", [False, True])
@pytest.mark.parametrize("bit", [0, 1, 2, 3, 7, 30, 62])
def test_a_batch_at_a_wrong_offset_is_not_sent_to_a_follower(
    tmp_path: Path, bit: int, is_rolled: bool
) -> None:
    log = new_log(str(tmp_path))
    for number in range(COUNT):
        append(log, str(number))
        if is_rolled and number == 4:
            log.roll(now_ms=NOW_MS)
    close(log)
    with open(log.segments[0].log_path, "r+b") as file:
        file.seek(4 * SIZE)
        file.write((4 ^ 1 << bit).to_bytes(8, "big"))
    again = reopened(log, was_clean=True)
    before = again.read(0, 1 << 20, offset_limit=COUNT, check_crc=True)
    assert isinstance(before, LogSlice)
    assert values_in(before) in (["0", "1", "2"], ["0", "1", "2", "3"])
    with pytest.raises(LogCorrupt):
        again.read(4, 1 << 20, offset_limit=COUNT, check_crc=True)
    with pytest.raises(LogCorrupt):
        asyncio.run(again.read_cold(4, 1 << 20, offset_limit=COUNT))
