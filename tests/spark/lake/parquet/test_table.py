"""A crash between any two steps of a commit to a plain Parquet table."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from penstock.spark.lake.disk import Disk
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.parquet.manifest import PENDING, STAGING
from penstock.spark.lake.parquet.table import ParquetTable
from penstock.spark.lake.table import Batch, Commit
from tests.spark.lake.support import SCHEMA, ids, prepared, put, rows_of

STEPS_MAX = 50


class Crash(BaseException):
    pass


class FragileDisk(Disk):
    """Ends the process, as far as the table can tell, before a given step."""

    def __init__(self, root: str, steps_left: int) -> None:
        super().__init__(root)
        self._steps_left = steps_left

    def _step(self) -> None:
        if self._steps_left == 0:
            raise Crash
        self._steps_left -= 1

    def write(self, path: str, content: bytes) -> None:
        self._step()
        super().write(path, content)

    def link(self, path: str, new_path: str) -> bool:
        self._step()
        return super().link(path, new_path)

    def move(self, path: str, new_path: str) -> None:
        self._step()
        super().move(path, new_path)

    def remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._step()
            super().remove([path])


def crash_everywhere(tmp_path: Path, work: Callable[[ParquetTable], object]) -> list[ParquetTable]:
    """The table after a crash before each step of `work` in turn; the last one was not interrupted."""
    found = []
    for steps in range(STEPS_MAX):
        path = str(tmp_path / str(steps))
        put(ParquetTable(path), rows_of(1, 2), batch=("q", 0), partition_by=("place",))
        put(ParquetTable(path), rows_of(3), batch=("q", 1))
        found.append(ParquetTable(path))
        try:
            work(ParquetTable(path, FragileDisk(path, steps)))
        except Crash:
            continue
        return found
    raise AssertionError(f"not done after {STEPS_MAX} steps")


def seen_by_others(table: ParquetTable) -> list[int]:
    """As a reader sees the directory that knows nothing of Penstock."""
    found = ds.dataset(table.path, format="parquet", partitioning="hive")
    return sorted(
        each for each in found.to_table(columns=["id"]).column("id").to_pylist() if each is not None
    )


def test_a_batch_is_whole_or_not_there_after_a_crash_and_once_there_after_its_replay(tmp_path: Path) -> None:
    more = [*rows_of(4), *rows_of(5, place="there"), *rows_of(6, place=None)]
    tables = crash_everywhere(tmp_path, lambda table: put(table, more, batch=("q", 2)))
    outcomes = set()
    for table in tables:
        after_crash = tuple(ids(table))
        assert after_crash in {(1, 2, 3), (1, 2, 3, 4, 5, 6)}
        was_committed = len(after_crash) == 6
        assert put(table, more, batch=("q", 2)) is not was_committed
        assert ids(table) == seen_by_others(table) == [1, 2, 3, 4, 5, 6]
        assert not os.listdir(os.path.join(table.path, PENDING))
        outcomes.add(was_committed)
    assert outcomes == {True, False}
    assert len(tables) > 6


def test_the_next_batch_finishes_what_a_crash_left(tmp_path: Path) -> None:
    tables = crash_everywhere(tmp_path, lambda table: put(table, rows_of(4), batch=("other", 0)))
    for table in tables:
        put(table, rows_of(9), batch=("q", 2))
        assert seen_by_others(table) == ids(table)
        assert set(ids(table)) in ({1, 2, 3, 9}, {1, 2, 3, 4, 9})


def test_merging_that_crashes_neither_loses_nor_doubles_rows(tmp_path: Path) -> None:
    for table in crash_everywhere(tmp_path, lambda table: table.compact(1 << 20)):
        assert ids(table) == [1, 2, 3]
        table.vacuum(0, is_dry_run=False)
        assert ids(table) == seen_by_others(table) == [1, 2, 3]


def test_overwriting_that_crashes_leaves_the_old_rows_or_the_new(tmp_path: Path) -> None:
    tables = crash_everywhere(
        tmp_path, lambda table: put(table, rows_of(7), replaces_all=True, batch=("r", 0))
    )
    for table in tables:
        assert ids(table) in ([1, 2, 3], [7])
        put(table, rows_of(7), replaces_all=True, batch=("r", 0))
        assert ids(table) == seen_by_others(table) == [7]


def test_vacuum_that_crashes_harms_nothing(tmp_path: Path) -> None:
    def clean(table: ParquetTable) -> None:
        table.vacuum(0, is_dry_run=False)

    for table in crash_everywhere(tmp_path, clean):
        assert ids(table) == [1, 2, 3]
        assert not put(table, rows_of(3), batch=("q", 1))


def test_no_reader_of_the_directory_sees_files_that_were_not_committed(tmp_path: Path) -> None:
    table = ParquetTable(str(tmp_path))
    put(table, rows_of(1), batch=("q", 0))
    prepared(table, rows_of(2))
    assert seen_by_others(table) == [1]
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    assert len(os.listdir(tmp_path / STAGING)) == 1


def test_files_that_were_cleaned_up_too_early_are_not_committed(tmp_path: Path) -> None:
    table = ParquetTable(str(tmp_path))
    put(table, rows_of(1), batch=("q", 0))
    files = prepared(table, rows_of(2))
    table.vacuum(0, is_dry_run=False)
    with pytest.raises(TableError, match="was removed before it was committed"):
        table.commit(Commit(files=files, schema=SCHEMA, batch=Batch(query_id="q", batch_id=1)))
    assert ids(table) == [1]
    assert put(table, rows_of(2), batch=("q", 1))
    assert ids(table) == [1, 2]


def test_a_directory_with_files_of_others_is_not_made_a_table(tmp_path: Path) -> None:
    (tmp_path / "theirs.parquet").write_bytes(b"")
    with pytest.raises(TableError, match="Parquet files that Penstock did not write"):
        put(ParquetTable(str(tmp_path)), rows_of(1))
