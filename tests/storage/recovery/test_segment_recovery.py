"""Recovery of a segment with a torn write or damage: what is cut, and what is kept and reported."""

from pathlib import Path

import pytest

from penstock.storage.errors import LogCorrupt
from penstock.storage.file_cache import FileCache
from penstock.storage.files import RealFileSystem
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.recovery.loader import Checkpointed, load_log
from tests.storage.damaged_log import (
    BASE_OFFSET,
    CONTENT,
    COUNT,
    EPOCH,
    LAST_OFFSET,
    LENGTH,
    MAGIC,
    SIZE,
    content,
    corrupt,
    damage,
    log_of_batches,
)
from tests.storage.logs import (
    NOW_MS,
    append,
    checkpoint,
    read,
    reopened,
    sync,
    values_in,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return log_of_batches(tmp_path)


def reopened_with(log: Log, committed_offset: int) -> Log:
    """After a crash, with the last saved high watermark; nothing was checkpointed."""
    cache = FileCache(RealFileSystem())
    checkpointed = Checkpointed(was_clean=False, recovery_point=0, committed_offset=committed_offset)
    loaded = load_log(cache, log.directory, log.config, checkpointed, NOW_MS)
    return Log(log.topic, log.partition, log.directory, log.config, loaded=loaded)


@pytest.mark.parametrize("place", [CONTENT, LENGTH, LAST_OFFSET, BASE_OFFSET])
def test_recovery_does_not_mistake_committed_records_for_a_torn_write(log: Log, place: int) -> None:
    append(log, "new epoch", epoch=3)
    sync(log)
    corrupt(log, 4, place)
    again = reopened_with(log, committed_offset=5)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT + 1, [damage(4, 4)])
    assert [(each.epoch, each.start_offset) for each in again.epochs.entries] == [(0, 0), (3, COUNT)]


def test_a_leader_epoch_that_begins_with_a_damaged_batch_is_still_known(log: Log) -> None:
    append(log, "x", epoch=3)
    append(log, "y", epoch=3)
    sync(log)
    corrupt(log, COUNT)
    again = reopened_with(log, committed_offset=COUNT + 1)
    assert [each.start_offset for each in again.epochs.entries] == [0, COUNT]


@pytest.mark.parametrize("epoch", [3, 4])
def test_a_leader_epoch_that_begins_in_unreadable_bytes_is_known_after_their_repair(
    log: Log, epoch: int
) -> None:
    append(log, "x", epoch=epoch)
    append(log, "y", epoch=4)
    sync(log)
    batch = content(log)[COUNT * SIZE : (COUNT + 1) * SIZE]
    corrupt(log, COUNT, LENGTH)
    again = reopened_with(log, committed_offset=COUNT + 1)
    assert again.epochs.entries == [(0, 0), (4, COUNT + 1)]
    assert LogRepair(again).repair(next(iter(again.damaged)), batch)
    assert again.epochs.entries == log.epochs.entries


def test_a_corrupted_leader_epoch_is_not_trusted(log: Log) -> None:
    corrupt(log, 4, EPOCH)
    again = reopened_with(log, committed_offset=COUNT)
    assert list(again.damaged) == [damage(4, 5)]  # either of the two may be the one whose epoch is wrong
    assert again.epochs.entries == [(0, 0)]


@pytest.mark.parametrize("epoch", [1, 1 << 22])  # the corrupted epoch is higher than all others, or lower
def test_the_leader_epoch_of_a_damaged_batch_is_not_trusted_when_others_contradict_it(
    log: Log, epoch: int
) -> None:
    for number in range(4):
        append(log, str(number), epoch=epoch)
    sync(log)
    corrupt(log, COUNT + 1)
    corrupt(log, COUNT + 1, EPOCH)
    again = reopened_with(log, committed_offset=COUNT + 4)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT + 4, [damage(COUNT + 1, COUNT + 1)])
    assert again.epochs.entries == [(0, 0), (epoch, COUNT)]


@pytest.mark.parametrize("place", [CONTENT, LENGTH, MAGIC, BASE_OFFSET])
def test_a_corrupted_batch_at_the_end_of_a_segment_is_not_a_torn_write(log: Log, place: int) -> None:
    log.roll(now_ms=NOW_MS)
    append(log, "next")
    sync(log)
    corrupt(log, COUNT - 1, place)
    again = reopened_with(log, committed_offset=COUNT + 1)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT + 1, [damage(COUNT - 1, COUNT - 1)])
    assert values_in(read(again, COUNT)) == ["next"]


def test_recovery_cuts_uncommitted_batches_at_the_end_of_the_log(log: Log) -> None:
    corrupt(log, 7)
    again = reopened_with(log, committed_offset=7)
    assert (again.log_end_offset, list(again.damaged)) == (7, [])
    corrupt(log, 6)
    again = reopened_with(log, committed_offset=7)
    assert [(each.base_offset, each.next_offset) for each in again.damaged] == [(6, 7)]
    assert append(again, "next").base_offset == 7, "no other record gets the offset of a committed one"
    with pytest.raises(LogCorrupt):
        read(again, 6)


@pytest.mark.parametrize("place", [CONTENT, LENGTH, LAST_OFFSET, BASE_OFFSET])
def test_recovery_reports_damage_in_durable_records_and_keeps_the_records_after_it(
    log: Log, place: int
) -> None:
    checkpoint(log)
    corrupt(log, 4, place)
    for suffix in (".index", ".timeindex"):
        Path(log.segments[0].path(suffix)).unlink()
    again = reopened(log)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT, [damage(4, 4)])
    assert len(again.damage) == 1


@pytest.mark.parametrize("place", [CONTENT, LAST_OFFSET, BASE_OFFSET])
def test_recovery_knows_the_end_of_a_log_whose_last_batch_is_damaged(log: Log, place: int) -> None:
    checkpoint(log)
    corrupt(log, COUNT - 1, place)
    for suffix in (".index", ".timeindex"):
        Path(log.segments[0].path(suffix)).unlink()
    again = reopened(log)
    assert (again.log_end_offset, list(again.damaged)) == (COUNT, [damage(COUNT - 1, COUNT - 1)])
