import os
from pathlib import Path

from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from tests.storage.logs import (
    NOW_MS,
    append,
    bases,
    checkpoint,
    new_log,
    reopened,
)


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


def test_segments_are_deleted_only_after_their_producers_are_in_a_snapshot(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=1)
    for number in range(3):
        append(log, str(number), producer_id=5, producer_epoch=0, base_sequence=number)
    log.advance_log_start(2)
    assert bases(log) == [0, 1, 2]
    checkpoint(log)
    assert bases(log) == [2]
    again = reopened(log)
    assert append(again, "2", producer_id=5, producer_epoch=0, base_sequence=2).duplicate


def test_observers_are_notified_of_records_that_a_checkpoint_makes_durable(log: Log) -> None:
    """An append made while it ran waits for a sync, which then finds everything durable."""
    notified: list[int] = []
    log.on_durable = lambda: notified.append(log.durable_offset)
    append(log, "a")
    job = LogCheckpoint(log).begin()
    assert job is not None
    later = log.begin_sync()
    job.run()
    LogCheckpoint(log).finish(job)
    later.run()
    assert not log.finish_sync(later)
    assert notified == [1]
