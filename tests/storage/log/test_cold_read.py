"""Reads that wait for the disk."""

import asyncio
from pathlib import Path

import pytest

from penstock.storage.errors import LogCorrupt
from penstock.storage.log.log import Log
from tests.storage.damaged_log import (
    BASE_OFFSET,
    COUNT,
    corrupt,
    log_of_batches,
    reopened_with_damage,
)
from tests.storage.logs import (
    append,
    new_log,
    read,
    values_in,
)


def test_a_read_from_the_disk_returns_the_batch_that_contains_the_offset(log: Log) -> None:
    append(log, "a")
    append(log, "b")
    log.release()
    found = asyncio.run(log.read_cold(1, 1 << 20, offset_limit=2))
    assert values_in(found) == ["b"]
    assert found.next_offset == 2


def test_a_read_that_finds_a_damaged_index_rebuilds_it(tmp_path: Path) -> None:
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


def test_a_read_from_the_disk_returns_undamaged_records_and_reports_the_damage(tmp_path: Path) -> None:
    again, suspicions = reopened_with_damage(tmp_path, 4)

    def cold(offset: int) -> list[str]:
        return values_in(asyncio.run(again.read_cold(offset, 1 << 20, offset_limit=COUNT)))

    assert cold(0) == ["0", "1", "2", "3"]
    assert not suspicions
    with pytest.raises(LogCorrupt):
        cold(4)
    assert suspicions
    assert cold(5) == ["5", "6", "7", "8", "9"]


def test_a_read_does_not_skip_the_records_after_a_wrong_offset(tmp_path: Path) -> None:
    log = log_of_batches(tmp_path, index_interval_bytes=4096)
    corrupt(log, 4, BASE_OFFSET)
    found = asyncio.run(log.read_cold(0, 1 << 20, offset_limit=COUNT))
    assert (values_in(found), found.next_offset) == (["0", "1", "2", "3"], 4)
