"""`penstock sql` against a real broker."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Penstock, call_command
from tests.spark.source.topics import new_topic, produce
from tests.support.broker import BrokerProcess

VALUES = [b'{"id": 1, "name": "Ann", "tags": ["x"]}', b'{"id": 2, "name": "Bob, \\"B\\"", "tags": []}']


@pytest.fixture(scope="module")
def topic(shared_broker: BrokerProcess) -> str:
    made = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, made, VALUES, key=b"k")
    return made


def test_rows_are_a_table(penstock: Penstock, topic: str) -> None:
    lines = penstock("sql", f'SELECT id, name, _key FROM "{topic}" ORDER BY id').stdout.splitlines()
    assert lines[0].split() == ["ID", "NAME", "_KEY"]
    assert lines[1].split() == ["1", "Ann", "k"]


def test_rows_are_csv_and_json(penstock: Penstock, topic: str) -> None:
    query = f'SELECT id, name, tags FROM "{topic}" ORDER BY id'
    rows = list(csv.reader(io.StringIO(penstock("sql", query, "--format", "csv").stdout)))
    assert rows == [["id", "name", "tags"], ["1", "Ann", '["x"]'], ["2", 'Bob, "B"', "[]"]]
    lines = penstock("sql", query, "--format", "json").stdout.splitlines()
    assert json.loads(lines[0]) == {"id": 1, "name": "Ann", "tags": ["x"]}


def test_a_file_has_the_format_of_its_name(shared_broker: BrokerProcess, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    query = f'SELECT id, _timestamp FROM "{topic}"'
    done = call_command("sql", query, "-o", str(path), "--stats", "-b", shared_broker.bootstrap)
    assert pq.read_table(path).column("id").to_pylist() == [1, 2]
    assert f"{topic}: 2 record(s) scanned" in done.stderr


def test_a_query_that_fails_leaves_no_file(penstock: Penstock, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    penstock("sql", f"SELECT error('late') FROM \"{topic}\"", "-o", str(path), fails=True)
    assert list(tmp_path.iterdir()) == []


def test_errors_are_one_line_with_the_position(penstock: Penstock, topic: str) -> None:
    assert "(line 1, column 8)" in penstock("sql", f'SELECT nam FROM "{topic}"', fails=True).stderr
    assert "needs all rows" in penstock("sql", "SELECT 1", "--follow", "--format", "table", fails=True).stderr
    assert "is not a schema" in penstock("sql", "SELECT 1", "--schema", "x=nonsense", fails=True).stderr
    assert (
        "cannot be followed"
        in penstock("sql", f'SELECT count(*) FROM "{topic}"', "--follow", fails=True).stderr
    )


def test_schemas_are_read_from_a_file(penstock: Penstock, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "schemas.yaml"
    file.write_text(f"{topic}: json(id VARCHAR)\n")
    out = penstock("sql", f'DESCRIBE "{topic}"', "--schema", str(file), "--format", "csv").stdout
    assert "id,VARCHAR\n" in out
    assert "tags" not in out


def test_the_prompt_runs_queries_up_to_a_semicolon_and_goes_on_after_an_error(
    shared_broker: BrokerProcess, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    typed = f'SELECT nam\nFROM "{topic}";\nSELECT id FROM "{topic}"\nWHERE id = 2;\nquit\n'
    done = call_command("sql", "--format", "csv", "-b", shared_broker.bootstrap, stdin=typed)
    assert done.returncode == 0
    assert "id\n2\n" in done.stdout
    assert "SELECT nam" in done.stderr
    assert "^" in done.stderr
