from pathlib import Path

import pytest

from penstock.spark.lake.errors import CommitConflict
from penstock.spark.lake.formats import TABLE_FORMATS, open_table
from penstock.spark.lake.maintenance import Maintained, MaintenanceRule, maintain
from penstock.spark.lake.table import Table
from tests.spark.lake.support import ids, put, rows_of, write_batches_while

WEEK_MS = 7 * 86_400_000
RULE = MaintenanceRule(when_files=4, file_size_bytes=1 << 20, keep_versions_ms=WEEK_MS)


@pytest.fixture(params=TABLE_FORMATS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    wanted: str = request.param
    return open_table(str(tmp_path / "t"), wanted)


def test_small_files_are_merged_when_there_are_enough_of_them(table: Table) -> None:
    assert maintain(table, RULE, removes_old_files=True) == Maintained()  # no table yet
    for at in range(3):
        put(table, rows_of(at), batch=("q", at))
    assert maintain(table, RULE, removes_old_files=False) == Maintained()
    put(table, rows_of(3), batch=("q", 3))
    done = maintain(table, RULE, removes_old_files=False)
    assert (done.files_merged, done.files_made, table.size().files) == (4, 1, 1)
    assert ids(table) == [0, 1, 2, 3]
    assert not put(table, rows_of(3), batch=("q", 3))


def test_old_versions_are_removed_and_young_ones_kept(table: Table) -> None:
    for at in range(4):
        put(table, rows_of(at), batch=("q", at))
    assert maintain(table, RULE, removes_old_files=True).files_removed == 0
    at_once = MaintenanceRule(when_files=4, file_size_bytes=1 << 20, keep_versions_ms=0)
    assert maintain(table, at_once, removes_old_files=True).files_removed >= 3
    assert ids(table) == [0, 1, 2, 3]
    assert not put(table, rows_of(3), batch=("q", 3))


def test_it_gives_way_to_a_commit_that_came_first(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(4):
        put(table, rows_of(at), batch=("q", at))

    def lose(_file_size_bytes: int) -> None:
        raise CommitConflict("another writer was first")

    with monkeypatch.context() as patched:
        patched.setattr(table, "compact", lose)
        assert maintain(table, RULE, removes_old_files=False).gave_way
    assert maintain(table, RULE, removes_old_files=False).files_merged == 4


def test_a_stream_that_is_maintained_all_the_time_loses_and_doubles_nothing(table: Table) -> None:
    write_batches_while(table, lambda: maintain(table, RULE, removes_old_files=True).files_merged)
    assert ids(table) == list(range(12))
