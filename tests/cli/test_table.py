import json
import os
from pathlib import Path

import pytest

from penstock.cli.main import run
from penstock.spark.lake.formats import TABLE_FORMATS, open_table
from penstock.spark.lake.table import Table
from tests.spark.lake.support import prepared, put, rows_of


@pytest.fixture(params=TABLE_FORMATS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Three batches, a file each."""
    wanted: str = request.param
    made = open_table(str(tmp_path / "orders"), wanted)
    for at in range(3):
        put(made, rows_of(at), batch=("a-query", at), partition_by=("place",))
    return made


def test_show_tells_format_rows_files_and_columns(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "show", table.path]) == 0
    first, heading, *columns = capsys.readouterr().out.splitlines()
    assert f"table {table.path}: 3 row(s) in 3 file(s)" in first
    assert heading.split() == ["COLUMN", "TYPE", "PARTITION"]
    assert [line.split() for line in columns] == [["id", "int32", "-"], ["place", "string", "yes"]]


def test_show_is_json_for_programs(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "show", table.path, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["rows"], shown["files"]) == (3, 3)
    assert shown["columns"][1] == {"column": "place", "type": "string", "partition": True}


def test_history_shows_the_batch_of_each_version(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "history", table.path, "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["VERSION", "TIME", "OPERATION", "ROWS", "ADDED", "REMOVED", "QUERY", "BATCH"]
    assert [line.split()[-2:] for line in lines[1:]] == [["a-query", "2"], ["a-query", "1"]]
    assert run(["table", "history", table.path, "--json"]) == 0
    assert [each["batch_id"] for each in json.loads(capsys.readouterr().out)] == [2, 1, 0]


def test_compact_merges_small_files(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "compact", table.path]) == 0
    assert capsys.readouterr().out == "merged 3 files into 1\n"
    assert table.size().files == 1
    assert run(["table", "compact", table.path]) == 0
    assert capsys.readouterr().out == "there is nothing to merge\n"


def test_vacuum_only_lists_files_without_the_option_to_remove_them(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    def files() -> set[str]:
        return {os.path.join(place, name) for place, _, names in os.walk(table.path) for name in names}

    before = files()
    prepared(table, rows_of(9))
    orphan = (files() - before).pop()
    assert run(["table", "vacuum", table.path]) == 0
    assert capsys.readouterr().out == "there is nothing to remove\n"
    os.utime(orphan, (0, 0))
    assert run(["table", "vacuum", table.path]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [os.path.relpath(orphan, table.path), "1 file(s) can be removed: run it with --remove"]
    assert os.path.exists(orphan)
    assert run(["table", "vacuum", table.path, "--remove"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "removed 1 file(s)"
    assert not os.path.exists(orphan)
    assert table.size().rows == 3


@pytest.mark.parametrize("command", ["show", "history", "compact", "vacuum"])
def test_a_path_without_a_table_is_one_clear_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["table", command, str(tmp_path)]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"penstock: there is no table at {tmp_path}: ")
    assert printed.count("\n") == 1


def test_a_wrong_age_is_refused_with_an_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "vacuum", str(tmp_path), "--older-than", "a week"]) == 2
    assert (
        capsys.readouterr().err
        == "penstock: --older-than 'a week' is not an age: write it like 90s, 30m, 12h or 7d\n"
    )


def test_a_damaged_table_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020d}.json").write_text("nonsense")
    assert run(["table", "show", str(tmp_path)]) == 1
    printed = capsys.readouterr().err
    assert printed.startswith(f"penstock: the Delta table at {tmp_path} cannot be read: ")
    assert printed.count("\n") == 1
