import asyncio
import logging
import os
from pathlib import Path

import pytest

from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.storage.errors import LogCorrupt
from penstock.storage.file_cache import FileCache
from penstock.storage.files import File, RealFile, RealFileSystem
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.log.values import Origin
from penstock.storage.recovery.loader import Checkpointed, load_log
from tests.storage.logs import (
    NOW_MS,
    all_values,
    append,
    append_records,
    batch_of,
    checkpoint,
    close,
    config_of,
    new_log,
    read,
    reopened,
    sync,
    values_in,
)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = new_log(str(tmp_path), segment_records=4, index_interval_bytes=100)
    for number in range(10):
        append(log, f"{number} {'.' * 50}")
    sync(log)
    return log


def numbers(log: Log) -> list[int]:
    return [int(value.split()[0]) for value in all_values(log)]


def edit(path: str, position: int, content: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(content)


def position_of(log: Log, offset: int) -> tuple[str, int]:
    segment = log.segments[log.chain.number_of(offset)]
    size = len(batch_of(f"0 {'.' * 50}"))
    return segment.log_path, (offset - segment.base_offset) * size


def test_all_whole_batches_are_kept(log: Log) -> None:
    assert numbers(reopened(log)) == list(range(10))


@pytest.mark.parametrize("cut", [1, 30, 61, 100])
def test_a_torn_last_batch_is_cut(log: Log, cut: int) -> None:
    path, position = position_of(log, 9)
    size = log.segments[-1].size_bytes - position
    os.truncate(path, position + min(cut, size - 1))
    again = reopened(log)
    assert numbers(again) == list(range(9))
    assert os.path.getsize(path) == position
    append(again, "9 again")
    assert numbers(again) == list(range(10))


def test_a_batch_with_a_bad_checksum_is_cut_with_all_after_it(log: Log) -> None:
    path, position = position_of(log, 5)
    edit(path, position + 80, b"\xff\xff")
    again = reopened(log)
    assert numbers(again) == list(range(5))
    assert [segment.base_offset for segment in again.segments] == [0, 4]


def test_unused_preallocated_room_is_cut(log: Log) -> None:
    path = log.segments[-1].log_path
    size = log.segments[-1].size_bytes
    assert os.path.getsize(path) > size
    assert numbers(reopened(log)) == list(range(10))
    assert os.path.getsize(path) == size


def test_a_segment_after_a_gap_is_removed(log: Log, caplog: pytest.LogCaptureFixture) -> None:
    path, position = position_of(log, 7)
    os.truncate(path, position)
    with caplog.at_level(logging.WARNING):
        again = reopened(log)
    assert numbers(again) == list(range(7))
    assert "begins at offset 8 where 7 belongs" in caplog.text


def test_segments_below_the_recovery_point_are_not_read(log: Log) -> None:
    checkpoint(log)
    path, position = position_of(log, 5)
    edit(path, position + 80, b"\xff\xff")
    again = reopened(log)
    assert again.log_end_offset == 10
    assert again.recovery_point == 10


def test_damage_below_the_recovery_point_is_reported_and_kept(log: Log) -> None:
    checkpoint(log)
    path, position = position_of(log, 8)
    edit(path, position + 80, b"\xff\xff")
    os.unlink(log.segments[-1].path(".index"))
    again = reopened(log)
    assert again.log_end_offset == 10
    [damage] = again.damage
    assert "checksum" in damage
    assert path in damage


def test_a_destroyed_segment_below_the_recovery_point_is_kept_and_reported(log: Log) -> None:
    checkpoint(log)
    path, _ = position_of(log, 8)
    edit(path, 0, bytes(range(200)))
    os.unlink(log.segments[-1].path(".index"))
    again = reopened(log)
    assert "is damaged at byte 0" in again.damage[0]
    assert os.path.getsize(path) >= log.segments[-1].size_bytes
    with pytest.raises(LogCorrupt, match="offsets 8 to 9"):
        read(again, 8)
    assert append(again, "10 new").base_offset == 10
    assert values_in(read(again, 10)) == ["10 new"]


def test_the_lost_durable_end_of_a_log_is_reported_as_missing_after_a_crash(log: Log) -> None:
    checkpoint(log)
    path, position = position_of(log, 9)
    os.truncate(path, position)
    again = reopened(log)
    assert "everything below 10 was durable" in again.damage[0]
    assert [value.split()[0] for value in values_in(read(again, 8))] == ["8"]
    with pytest.raises(LogCorrupt, match="offsets 9 to 9"):
        read(again, 9)
    assert append(again, "10 new").base_offset == 10, "no other record gets the offset of a lost one"
    assert values_in(read(again, 10)) == ["10 new"]


def test_the_lost_end_of_a_log_is_repaired_with_batches_of_another_replica(log: Log) -> None:
    checkpoint(log)
    path, position = position_of(log, 8)
    lost = Path(path).read_bytes()[position : log.segments[-1].size_bytes]
    first, second = lost[: len(lost) // 2], lost[len(lost) // 2 :]
    os.truncate(path, position)
    again = reopened(log)
    append(again, "10 new")
    (damage,) = again.damaged
    for others, why in ((b"", "nothing"), (first, "too few"), (second + first, "in another order")):
        assert not LogRepair(again).repair(damage, others), why
    assert LogRepair(again).repair(damage, lost)
    assert [value.split()[0] for value in values_in(read(again, 8))] == ["8", "9"]
    assert values_in(read(again, 10)) == ["10 new"]
    assert (list(again.damaged), again.has_unsynced) == ([], True)
    checkpoint(again)
    assert [value.split()[0] for value in values_in(read(reopened(again), 8))] == ["8", "9"]


class CountedFile(RealFile):
    """Counts the bytes that are read from all of them."""

    __slots__ = ()
    read_bytes = 0

    def read(self, size_bytes: int, position: int) -> bytes:
        data = super().read(size_bytes, position)
        CountedFile.read_bytes += len(data)
        return data


class CountedFiles(RealFileSystem):
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        file = super().open(path, create=create, writable=writable)
        assert isinstance(file, RealFile)
        return CountedFile(file.descriptor)


def test_recovery_does_not_read_preallocated_room(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_bytes=64 << 20, preallocate=True)
    append(log, "0 first")
    sync(log)
    size_bytes = log.segments[0].size_bytes
    assert os.path.getsize(log.segments[0].log_path) > 64 << 20
    CountedFile.read_bytes = 0
    loaded = load_log(
        FileCache(CountedFiles()), str(tmp_path), log.config, Checkpointed(was_clean=False), NOW_MS
    )
    assert (loaded.log_end_offset, loaded.segments[0].size_bytes) == (1, size_bytes)
    assert os.path.getsize(log.segments[0].log_path) == size_bytes
    assert CountedFile.read_bytes < 1 << 20


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"", b"\xff" * 24, b"abc"])
def test_damaged_indexes_are_rebuilt(log: Log, suffix: str, content: bytes | None) -> None:
    checkpoint(log)
    append(log, "10 more")
    sync(log)
    for segment in log.segments:
        path = Path(segment.path(suffix))
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
    assert numbers(reopened(log)) == list(range(11))


def test_an_aborted_transaction_is_restored(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    checkpoint(log)
    abort = build_end_txn_batch(
        EndTxnMarker(is_commit=False, coordinator_epoch=0), producer_id=5, producer_epoch=0, timestamp=NOW_MS
    )
    append_records(log, abort, leader_epoch=0, now_ms=NOW_MS, origin=Origin.COORDINATOR)
    sync(log)
    again = reopened(log)
    [aborted] = again.aborted_transactions(0, 2)
    assert (aborted.first_offset, aborted.last_offset) == (0, 1)
    checkpoint(again)
    assert reopened(again).aborted_transactions(0, 2) == [aborted]


def test_leader_epochs_are_restored(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    append(log, "a", epoch=3)
    checkpoint(log)
    append(log, "b", epoch=5)
    sync(log)
    assert reopened(log).epochs.entries == [(3, 0), (5, 1)]
    (tmp_path / "leader-epoch-checkpoint").write_bytes(b"nonsense")
    assert reopened(log).epochs.entries == [(3, 0), (5, 1)]


def test_leader_epochs_saved_after_the_recovery_point_do_not_hide_the_starts_of_older_ones(
    log: Log,
) -> None:
    checkpoint(log)
    append(log, "a", epoch=1)
    checkpoint(log)
    append(log, "b", epoch=1)
    recovery_point = log.recovery_point
    log.begin_epoch(2)  # its leader has written nothing yet
    checkpoint(log)  # and the power fails before the new recovery point is on disk
    again = reopened(log, recovery_point=recovery_point)
    assert again.epochs.entries == [(0, 0), (1, 10)]
    assert_nothing_is_damaged(again)


def test_truncated_leader_epochs_do_not_hide_the_starts_of_older_ones(log: Log) -> None:
    append(log, "a", epoch=1)
    checkpoint(log)
    log.lower_recovery_point(10)
    log.truncate_to(10, now_ms=NOW_MS)
    append(log, "b", epoch=0)  # from a leader whose log is longer in this epoch
    sync(log)  # and the power fails before the epochs are saved again
    again = reopened(log)
    assert again.epochs.entries == [(0, 0)]
    assert_nothing_is_damaged(again)


def assert_nothing_is_damaged(log: Log) -> None:
    async def check() -> None:
        for segment in log.segments:
            await LogRepair(log).check(segment, lambda: asyncio.sleep(0))

    asyncio.run(check())
    assert list(log.damaged) == []


def test_an_empty_segment_of_an_interrupted_roll_hides_no_records(log: Log) -> None:
    (Path(log.directory) / f"{9:020d}.log").write_bytes(b"")
    assert numbers(reopened(log)) == list(range(10))


def test_a_stray_empty_segment_hides_no_records_after_a_clean_stop(log: Log) -> None:
    close(log)
    (Path(log.directory) / f"{9:020d}.log").write_bytes(b"")
    assert numbers(reopened(log, was_clean=True)) == list(range(10))


def test_unfinished_temporary_files_are_removed(log: Log) -> None:
    (Path(log.directory) / "leader-epoch-checkpoint.tmp").write_bytes(b"0\n")
    reopened(log)
    assert not [name for name in os.listdir(log.directory) if name.endswith(".tmp")]


def test_an_empty_directory_becomes_an_empty_log(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    os.unlink(log.segments[0].log_path)
    again = reopened(log)
    assert (again.log_start_offset, again.log_end_offset) == (0, 0)


def test_a_log_that_ends_below_its_start_restarts_empty_there(log: Log) -> None:
    log.advance_log_start(9)
    for segment in log.segments:
        os.truncate(segment.log_path, 0)
    again = reopened(log)
    assert (again.log_start_offset, again.log_end_offset) == (9, 9)
    assert append(again, "9 new").base_offset == 9


def test_no_missing_index_is_reported_for_a_segment_of_one_large_batch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = new_log(str(tmp_path))
    append(log, "x" * 200_000)
    checkpoint(log)
    close(log)
    with caplog.at_level(logging.WARNING):
        assert reopened(log, was_clean=True).segments[0].indexes().offsets.last_position == 0
    assert caplog.text == ""


def test_missing_indexes_are_rebuilt_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = new_log(str(tmp_path))
    for _ in range(3):
        append(log, "x" * 100_000)
    checkpoint(log)
    close(log)
    for path in tmp_path.glob("*index"):
        path.unlink()
    with caplog.at_level(logging.WARNING):
        assert reopened(log, was_clean=True).segments[0].indexes().offsets.last_position > 0
    assert "Rebuilt the indexes of" in caplog.text


def test_a_lost_segment_between_others_is_reported_as_missing_after_a_crash(log: Log) -> None:
    checkpoint(log)
    os.unlink(log.segments[1].log_path)
    again = reopened(log)
    assert [each.damage.base_offset for each in again.losses] == [4]
    with pytest.raises(LogCorrupt, match="offsets 4 to 7"):
        read(again, 5)
    assert [int(value.split()[0]) for value in values_in(read(again, 8))] == [8, 9]


@pytest.mark.parametrize(("offsets", "is_loss"), [((0, 2), False), ((0, 1), True)])
def test_gaps_of_a_formerly_compacted_log_are_not_missing_records(
    tmp_path: Path, offsets: tuple[int, ...], is_loss: bool
) -> None:
    """Its topic has another policy by now: only the offsets of its records show the compaction."""
    for base, numbers in ((0, offsets), (8, (8, 9))):
        content = b"".join(bytes(batch_of(str(each), base_offset=each)) for each in numbers)
        (tmp_path / f"{base:020d}.log").write_bytes(content)
    checkpointed = Checkpointed(was_clean=False, recovery_point=10)
    loaded = load_log(FileCache(RealFileSystem()), str(tmp_path), config_of(), checkpointed, NOW_MS)
    assert loaded.log_end_offset == 10
    assert bool(loaded.losses) == is_loss
