"""What is cut off a log, at its end and at its start."""

import os
from pathlib import Path

import pytest

from penstock.storage.errors import OffsetOutOfRange
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from tests.storage.logs import (
    NOW_MS,
    all_values,
    append,
    bases,
    checkpoint,
    new_log,
    read,
    reopened,
    values_in,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return new_log(str(tmp_path))


def test_truncation_drops_whole_batches_and_later_segments(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=2)
    for value in "abcdef":
        append(log, value)
    assert log.truncate_to(3, now_ms=NOW_MS) == 3
    assert all_values(log) == ["a", "b", "c"]
    assert bases(log) == [0, 2]
    append(log, "x")
    assert all_values(log) == ["a", "b", "c", "x"]


def test_truncation_inside_a_batch_drops_all_of_it(log: Log) -> None:
    append(log, "a")
    append(log, "b", "c", "d")
    assert log.truncate_to(3, now_ms=NOW_MS) == 1
    assert log.log_end_offset == 1


@pytest.mark.parametrize("offset", [0, 2, 3])
def test_truncation_of_the_batch_that_the_log_starts_in_leaves_an_empty_log_with_the_same_start(
    log: Log, offset: int
) -> None:
    append(log, "a")
    append(log, "b", "c", "d")
    append(log, "e")
    log.advance_log_start(2)
    assert log.truncate_to(offset, now_ms=NOW_MS) == 2
    assert (log.log_start_offset, log.log_end_offset, log.durable_offset, log.recovery_point) == (2, 2, 2, 0)
    assert append(log, "x").base_offset == 2
    assert all_values(log) == ["x"]


def test_truncation_to_the_end_forgets_an_epoch_that_wrote_nothing(log: Log) -> None:
    append(log, "a", epoch=1)
    log.begin_epoch(2)
    assert log.truncate_to(1, now_ms=NOW_MS) == 1
    assert log.epochs.latest_epoch == 1


def test_truncation_forgets_producers_and_epochs_of_what_it_drops(log: Log) -> None:
    append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0)
    append(log, "b", producer_id=5, producer_epoch=0, base_sequence=1, epoch=2)
    log.truncate_to(1, now_ms=NOW_MS)
    assert log.epochs.latest_epoch == 0
    assert not append(log, "b", producer_id=5, producer_epoch=0, base_sequence=1).duplicate
    assert append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0).duplicate


def test_a_checkpoint_during_which_the_log_is_truncated_leaves_no_snapshot(log: Log) -> None:
    for number in range(10):
        append(log, "a", producer_id=7, producer_epoch=0, base_sequence=number)
    job = LogCheckpoint(log).begin()
    assert job is not None
    log.truncate_to(4, now_ms=NOW_MS)
    job.run()
    LogCheckpoint(log).finish(job)
    assert [name for name in os.listdir(log.directory) if name.endswith(".snapshot")] == []
    checkpoint(log)
    assert [name for name in os.listdir(log.directory) if name.endswith(".snapshot")] == [
        f"{4:020d}.snapshot"
    ]


def test_a_log_can_start_over_at_another_offset(log: Log) -> None:
    append(log, "a")
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.durable_offset) == (100, 100, 100)
    assert append(log, "b").base_offset == 100
    assert all_values(log) == ["b"]


def test_deleted_records_are_gone_and_their_segments_too(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=2)
    for value in "abcdef":
        append(log, value)
    log.advance_log_start(3)
    assert bases(log) == [2, 4]
    with pytest.raises(OffsetOutOfRange):
        read(log, 2)
    assert values_in(read(log, 3)) == ["d"]
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith(".log")) == [
        f"{2:020d}.log",
        f"{4:020d}.log",
    ]


def test_the_log_cannot_start_behind_its_end(log: Log) -> None:
    append(log, "a")
    with pytest.raises(OffsetOutOfRange):
        log.advance_log_start(2)


def test_deleting_all_segments_leaves_an_empty_one_at_the_end(log: Log) -> None:
    append(log, "a")
    log.delete_oldest(1, now_ms=NOW_MS)
    assert (log.log_start_offset, bases(log)) == (1, [1])
    assert append(log, "b").base_offset == 1


def test_segments_go_only_after_their_producers_are_written_down(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=1)
    for number in range(3):
        append(log, str(number), producer_id=5, producer_epoch=0, base_sequence=number)
    log.advance_log_start(2)
    assert bases(log) == [0, 1, 2]
    checkpoint(log)
    assert bases(log) == [2]
    again = reopened(log)
    assert append(again, "2", producer_id=5, producer_epoch=0, base_sequence=2).duplicate
