import os
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from penstock.spark.lake.disk import Disk
from penstock.spark.lake.iceberg import table as iceberg
from penstock.spark.lake.iceberg.table import IcebergTable
from tests.spark.lake.support import ids, put, rows_of


class Crash(BaseException):
    pass


class DiskThatLosesTheHint(Disk):
    """The process ends between Iceberg's commit and the hint for readers without the catalog."""

    def write(self, path: str, content: bytes) -> None:
        assert path.endswith("version-hint.text")
        raise Crash


def without_catalog(path: Path) -> list[int]:
    found = StaticTable.from_metadata(str(path)).scan().to_arrow().column("id").to_pylist()
    return sorted(each for each in found if each is not None)


def test_a_crash_after_the_commit_leaves_the_hint_behind_and_the_table_right(tmp_path: Path) -> None:
    table = IcebergTable(str(tmp_path))
    put(table, rows_of(1), batch=("q", 0))
    with pytest.raises(Crash):
        put(IcebergTable(str(tmp_path), DiskThatLosesTheHint(str(tmp_path))), rows_of(2), batch=("q", 1))
    assert ids(table) == [1, 2]
    assert without_catalog(tmp_path) == [1]
    assert not put(table, rows_of(2), batch=("q", 1))
    put(table, rows_of(3), batch=("q", 2))
    assert ids(table) == without_catalog(tmp_path) == [1, 2, 3]


def test_a_crash_after_the_table_was_made_leaves_an_empty_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise Crash

    table = IcebergTable(str(tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(IcebergTable, "_change", crash)
        with pytest.raises(Crash):
            put(table, rows_of(1), batch=("q", 0))
    assert ids(table) == []
    assert put(table, rows_of(1), batch=("q", 0))
    assert ids(table) == [1]


def test_a_catalog_that_was_being_made_when_its_maker_died_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "penstock-catalog.new.db").write_bytes(b"")
    table = IcebergTable(str(tmp_path))
    assert table.state() is None
    put(table, rows_of(1), batch=("q", 0))
    assert ids(table) == [1]


def test_a_long_stream_forgets_its_oldest_snapshots_and_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg, "SNAPSHOTS_MAX", 4)
    monkeypatch.setattr(iceberg, "SNAPSHOTS_KEPT", 2)
    table = IcebergTable(str(tmp_path))
    for batch_id in range(7):
        put(table, rows_of(batch_id), batch=("q", batch_id))
        assert len(table.history(10)) <= 4
    assert ids(table) == without_catalog(tmp_path) == list(range(7))
    assert not put(table, rows_of(6), batch=("q", 6))


def test_old_metadata_does_not_pile_up(tmp_path: Path) -> None:
    table = IcebergTable(str(tmp_path))
    for batch_id in range(6):
        put(table, rows_of(batch_id), batch=("q", batch_id))
    table.vacuum(0, is_dry_run=False)
    assert len(table.history(10)) == 1
    lists = [name for name in os.listdir(tmp_path / "metadata") if name.startswith("snap-")]
    assert len(lists) == 1
    assert ids(table) == list(range(6))
