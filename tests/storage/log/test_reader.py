"""What is found in a log, by offset and by time."""

import asyncio
from pathlib import Path

import pytest

from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.storage.errors import OffsetOutOfRange
from penstock.storage.log.log import Log
from penstock.storage.log.values import Origin, TimestampOffset
from tests.storage.logs import (
    NOW_MS,
    append,
    append_records,
    batch_of,
    new_log,
    read,
    reopened,
    sync,
    values_in,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return new_log(str(tmp_path))


# -- reading ------------------------------------------------------------------------------------------------


def test_a_read_begins_with_the_batch_that_contains_the_offset(log: Log) -> None:
    append(log, "a", "b")
    append(log, "c", "d")
    assert values_in(read(log, 3)) == ["c", "d"]


def test_a_read_ends_at_the_limit_with_a_whole_batch(log: Log) -> None:
    append(log, "a", "b")
    append(log, "c", "d")
    assert values_in(read(log, 0, limit=3)) == ["a", "b"]
    assert read(log, 2, limit=3).records == b""


def test_reading_at_the_end_gives_nothing_and_beyond_it_an_error(log: Log) -> None:
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


def test_a_batch_larger_than_allowed_is_given_only_when_one_must_be(log: Log) -> None:
    append(log, "a" * 1_000)
    for _ in ("from the tail", "from the index"):
        assert values_in(read(log, 0, 100)) == ["a" * 1_000]
        found = log.read(0, 100, offset_limit=1, at_least_one=False)
        assert getattr(found, "records", None) == b""
        log.release()


def test_a_gap_in_the_offsets_is_stepped_over(log: Log) -> None:
    append(log, "a")
    log.append_replicated(batch_of("b", base_offset=10), now_ms=NOW_MS)
    assert values_in(read(log, 5)) == ["b"]
    log.release()
    assert values_in(read(log, 5)) == ["b"]


def test_a_read_from_the_disk_gives_the_same(log: Log) -> None:
    append(log, "a")
    append(log, "b")
    log.release()
    found = asyncio.run(log.read_cold(1, 1 << 20, offset_limit=2))
    assert values_in(found) == ["b"]
    assert found.next_offset == 2


def test_a_damaged_index_is_rebuilt_when_a_read_finds_out(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), index_interval_bytes=100)
    for number in range(50):
        append(log, f"value {number}")
    log.release()
    path = log.segments[0].path(".index")
    content = bytearray(Path(path).read_bytes())
    for position in range(7, len(content), 8):
        content[position] ^= 5
    Path(path).write_bytes(content)
    found = asyncio.run(log.read_cold(40, 1, offset_limit=50))
    assert values_in(found) == ["value 40"]
    assert values_in(read(log, 41, 1)) == ["value 41"]


# -- looking up ---------------------------------------------------------------------------------------------


def find(log: Log, timestamp: int) -> tuple[int, int] | None:
    found = asyncio.run(log.offset_for_timestamp(timestamp))
    return None if found is None else (found.timestamp, found.offset)


def test_the_first_record_at_or_after_a_time_is_found_in_any_segment(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=4, index_interval_bytes=0)
    times = [10, 30, 20, 50, 40, 60, 60, 70, 65, 90]
    for number, timestamp in enumerate(times):
        append(log, str(number), timestamp=timestamp)
    for _ in ("in memory", "from the disk"):
        for wanted in range(95):
            expected = next(((t, o) for o, t in enumerate(times) if t >= wanted), None)
            assert find(log, wanted) == expected, wanted
        log.release()
    assert asyncio.run(log.offset_of_max_timestamp()) == TimestampOffset(90, 9)


def test_records_before_the_log_start_are_not_found(log: Log) -> None:
    append(log, "a", "b", timestamp=10)
    append(log, "c", timestamp=5)
    log.advance_log_start(2)
    assert find(log, 0) == (5, 2)
    assert find(log, 6) is None


def test_the_greatest_time_is_that_of_its_first_record(log: Log) -> None:
    append(log, "a", timestamp=10)
    append(log, "b", "c", timestamp=20)
    append(log, "d", timestamp=20)
    append(log, "e", timestamp=15)
    assert asyncio.run(log.offset_of_max_timestamp()) == TimestampOffset(20, 1)


def test_an_empty_log_has_no_time(log: Log) -> None:
    assert find(log, 0) is None
    assert asyncio.run(log.offset_of_max_timestamp()) is None


def test_aborted_transactions_are_found_and_survive_the_segment_s_release(tmp_path: Path) -> None:
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
