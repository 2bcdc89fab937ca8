"""Reads, appends and truncations of a damaged log, and its repair."""

from pathlib import Path

import pytest

from penstock.storage.errors import LogCorrupt
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from tests.storage.damaged_log import (
    BASE_OFFSET,
    CONTENT,
    COUNT,
    LAST_OFFSET,
    LENGTH,
    MAGIC,
    SIZE,
    check,
    content,
    corrupt,
    damage,
    log_of_batches,
)
from tests.storage.logs import (
    NOW_MS,
    append,
    close,
    new_log,
    read,
    reopened,
    values_in,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return log_of_batches(tmp_path)


def test_a_read_returns_all_but_the_damaged_records(log: Log) -> None:
    corrupt(log, 4)
    assert check(log) == [damage(4, 4)]
    assert values_in(read(log, 0)) == ["0", "1", "2", "3"]
    assert values_in(read(log, 5)) == ["5", "6", "7", "8", "9"]
    with pytest.raises(LogCorrupt, match="offsets 4 to 4"):
        read(log, 4)


@pytest.mark.parametrize("place", [CONTENT, LENGTH, MAGIC, BASE_OFFSET, LAST_OFFSET])
def test_a_damaged_header_hides_no_later_batch(tmp_path: Path, place: int) -> None:
    log = new_log(str(tmp_path))
    for number in range(COUNT):
        append(log, str(number))
    close(log)
    corrupt(log, 4, place)
    again = reopened(log, was_clean=True)
    assert check(again) == [damage(4, 4)]
    assert values_in(read(again, 0)) == ["0", "1", "2", "3"]
    assert values_in(read(again, 5)) == ["5", "6", "7", "8", "9"]
    assert append(again, "10").base_offset == COUNT
    assert values_in(read(again, 5)) == ["5", "6", "7", "8", "9", "10"]


@pytest.mark.parametrize("place", [CONTENT, LENGTH])
def test_a_log_is_repaired_in_place_and_durable_with_the_next_sync(log: Log, place: int) -> None:
    sound = content(log)
    corrupt(log, 4, place)
    (found,) = check(log)
    assert not LogRepair(log).repair(found, sound[5 * SIZE : 6 * SIZE])
    assert LogRepair(log).repair(found, sound[4 * SIZE : 5 * SIZE])
    assert (content(log), list(log.damaged)) == (sound, [])
    assert log.has_unsynced
    assert values_in(read(log, 0)) == [str(number) for number in range(COUNT)]
    append(log, "10")
    assert values_in(read(log, 9)) == ["9", "10"]
    assert not LogRepair(log).repair(found, sound[4 * SIZE : 5 * SIZE]), "once"


@pytest.mark.parametrize("end", [3, 4, 5, 8])
@pytest.mark.parametrize("place", [CONTENT, LENGTH, MAGIC, BASE_OFFSET, LAST_OFFSET])
@pytest.mark.parametrize("interval_bytes", [100, 4096])
def test_a_damaged_header_does_not_prevent_a_truncation(
    tmp_path: Path, end: int, place: int, interval_bytes: int
) -> None:
    """Cluster seed 1222: the batch to cut was not found, and stayed in the file in front of another."""
    log = log_of_batches(tmp_path, index_interval_bytes=interval_bytes)
    corrupt(log, 4, place)
    assert log.truncate_to(end, now_ms=NOW_MS) == end
    assert log.segments[0].size_bytes == end * SIZE
    assert append(log, "new").base_offset == end
    assert check(log) == ([damage(4, 4)] if end > 4 else [])


def test_truncated_damage_is_forgotten(log: Log) -> None:
    corrupt(log, 7)
    check(log)
    log.truncate_to(6, now_ms=0)
    assert not log.damaged
    append(log, "again")
    assert values_in(read(log, 6)) == ["again"]
