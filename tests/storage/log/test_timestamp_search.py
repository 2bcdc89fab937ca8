"""Offsets by timestamp."""

import asyncio
from pathlib import Path

from penstock.storage.log.log import Log
from penstock.storage.log.values import TimestampOffset
from tests.storage.logs import (
    append,
    new_log,
)


def find(log: Log, timestamp: int) -> tuple[int, int] | None:
    found = asyncio.run(log.offset_for_timestamp(timestamp))
    return None if found is None else (found.timestamp, found.offset)


def test_the_first_record_at_or_after_a_timestamp_is_found_in_any_segment(tmp_path: Path) -> None:
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


def test_the_maximum_timestamp_is_found_at_its_first_record(log: Log) -> None:
    append(log, "a", timestamp=10)
    append(log, "b", "c", timestamp=20)
    append(log, "d", timestamp=20)
    append(log, "e", timestamp=15)
    assert asyncio.run(log.offset_of_max_timestamp()) == TimestampOffset(20, 1)


def test_an_empty_log_has_no_maximum_timestamp(log: Log) -> None:
    assert find(log, 0) is None
    assert asyncio.run(log.offset_of_max_timestamp()) is None
