"""What tables of one row for each key promise, in each format that has them, without Spark."""

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from penstock.spark.lake.errors import CommitConflict, SchemaMismatch, TableError
from penstock.spark.lake.formats import open_table
from penstock.spark.lake.merge.contents import LiveFile
from penstock.spark.lake.merge.merge import Merge
from penstock.spark.lake.merge.rules import MergeRules
from penstock.spark.lake.merge.staging import StagedChanges
from penstock.spark.lake.table import OptimisticTable, Table
from tests.spark.lake.merge.model import Model, Row
from tests.spark.lake.merge.support import CHANGES, HISTORY, LATEST, change_of, staged, tuples, upsert
from tests.spark.lake.support import put, read, rows_of, schema_of

ODD_VALUES = ("a b", "d/é", "c%2")


@pytest.fixture(params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> OptimisticTable:
    found = open_table(str(tmp_path / "a table"), request.param)
    assert isinstance(found, OptimisticTable)
    return found


def random_batches(count: int, size: int) -> list[list[Row]]:
    chance = random.Random(20)
    return [
        [
            change_of(
                chance.randrange(12),
                chance.randrange(40),
                chance.choice(ODD_VALUES),
                is_deleted=chance.random() < 0.3,
            )
            for _ in range(size)
        ]
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("rules", "partition_by"), [(LATEST, ()), (HISTORY, ("value",))], ids=["latest", "history"]
)
def test_a_table_equals_the_model_after_each_batch_and_its_replay(
    table: Table, rules: MergeRules, partition_by: tuple[str, ...]
) -> None:
    model = Model()
    for number, changes in enumerate(random_batches(3, 16)):
        assert upsert(table, changes, rules, batch=number, partition_by=partition_by)
        assert not upsert(table, changes[:3], rules, batch=number)
        model.apply(number, changes)
        expected: Sequence[Any] = model.history() if rules.has_history else model.latest()
        assert tuples(read(table)) == expected


def test_a_key_of_several_columns_and_kinds_finds_its_row(table: Table) -> None:
    schema = schema_of(day=pa.date32(), name=pa.string(), points=pa.int32())
    rules = MergeRules(key=("day", "name"))
    rows = pa.Table.from_pydict(
        {"day": pa.array([0, 0, 1], pa.date32()), "name": ["x", "é" * 40, "x"], "points": [1, 2, 3]}
    ).to_pylist()
    upsert(table, rows, rules, schema=schema)
    upsert(table, [{**rows[1], "points": 9}], rules, schema=schema)
    assert sorted(row["points"] for row in read(table)) == [1, 3, 9]


def test_only_files_with_a_changed_row_are_rewritten(table: Table) -> None:
    upsert(table, [change_of(key, 1) for key in range(10)])
    first = table.live_paths()
    upsert(table, [change_of(key, 1) for key in range(100, 103)])
    second = table.live_paths() - first
    assert len(second) == 1  # one file for the new keys, which are beyond the others
    upsert(table, [change_of(101, 2, "b"), change_of(5, 0, "late")])
    assert first < table.live_paths()
    assert not second & table.live_paths()
    assert {row["id"]: row["value"] for row in read(table)}[101] == "b"


def test_small_files_are_merged_with_new_rows(table: Table) -> None:
    for batch in range(6):
        upsert(table, [change_of(batch * 10 + key, 1) for key in range(10)], batch=batch)
    assert len(table.live_paths()) <= 3
    assert len(read(table)) == 60


def test_changes_beyond_the_memory_are_merged_part_by_part(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rules in (LATEST, HISTORY):
        here = type(table)(f"{table.path}-{rules.has_history}")
        model = Model()
        upsert(here, [change_of(key, 5) for key in range(40)], rules)
        model.apply(0, [change_of(key, 5) for key in range(40)])
        changes = [change_of(key % 50, key % 13, str(key), is_deleted=key % 7 == 0) for key in range(200)]
        with monkeypatch.context() as small:
            small.setattr(StagedChanges, "MEMORY_BYTES_MAX", 1000)
            upsert(here, changes, rules)
        model.apply(1, changes)
        expected: Sequence[Any] = model.history() if rules.has_history else model.latest()
        assert tuples(read(here)) == expected


def test_versions_that_have_ended_before_the_changes_are_not_read(
    table: OptimisticTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order in (1, 2):
        upsert(table, [change_of(key, order) for key in range(10)], HISTORY)
    with table._existing() as opened:
        contents = type(table._contents(opened))
    was_read: list[int] = []
    read_file = contents.read

    def read_and_note(self: Any, file: LiveFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        was_read.append(file.nulls["valid_to"])
        return read_file(self, file, columns)

    monkeypatch.setattr(contents, "read", read_and_note)
    upsert(table, [change_of(3, 9)], HISTORY)
    assert was_read == [10, 10]  # the file of the current versions: its keys, then all of it
    found = [row for row in read(table) if row["id"] == 3]
    assert sorted((row["valid_from"], row["valid_to"] or 99) for row in found) == [(1, 2), (2, 9), (9, 99)]


def test_deleted_keys_are_forgotten_after_the_retention(tmp_path: Path) -> None:
    now_ms = 0
    table = type(open_table(str(tmp_path / "t"), "delta"))(str(tmp_path / "t"), now_ms=lambda: now_ms)
    rules = msgspec.structs.replace(LATEST, delete_retention_ms=1000)
    upsert(table, [change_of(1, 5, is_deleted=True)], rules)
    now_ms = 900
    upsert(table, [change_of(2, 5, is_deleted=True)], rules)
    upsert(table, [change_of(1, 4), change_of(2, 4)], rules)
    assert read(table) == []
    now_ms = 1800
    upsert(table, [change_of(3, 5, is_deleted=True)], rules)
    upsert(table, [change_of(1, 4), change_of(2, 4)], rules)
    assert tuples(read(table)) == [(1, 4, "a")]


def test_a_new_column_and_narrower_values_fit(table: Table) -> None:
    upsert(table, [change_of(1, 1), change_of(2, 1)])
    schema = schema_of(id=pa.int32(), order=pa.int32(), extra=pa.string())
    with pytest.raises(SchemaMismatch, match="merge_schema"):
        upsert(table, [{"id": 1, "order": 2, "extra": "x"}], schema=schema)
    upsert(table, [{"id": 1, "order": 2, "extra": "x"}], schema=schema, merge_schema=True)
    assert sorted(read(table), key=lambda row: int(row["id"])) == [
        {"id": 1, "order": 2, "value": None, "extra": "x"},
        {"id": 2, "order": 1, "value": "a", "extra": None},
    ]


# -- what is refused


def files_below(path: str) -> set[str]:
    return {os.path.join(place, name) for place, _, names in os.walk(path) for name in names}


def test_a_change_without_a_key_is_refused_before_anything_is_written(table: Table) -> None:
    with pytest.raises(TableError, match=r"1 of 2 changes .* have no id, which is in its key"):
        upsert(table, [change_of(1, 1), {**change_of(1, 1), "id": None}])
    with pytest.raises(SchemaMismatch, match="no column id, which key names"):
        upsert(table, [], schema=schema_of(order=pa.int64()))
    assert files_below(table.path) == set()


def test_a_deletion_without_an_order_is_refused(table: Table) -> None:
    with pytest.raises(TableError, match="delete a key and have no order"):
        upsert(table, [{**change_of(1, 1, is_deleted=True), "order": None}])


def test_a_column_of_another_type_is_refused_before_anything_is_written(table: Table) -> None:
    upsert(table, [change_of(1, 1)])
    before = files_below(table.path)
    with pytest.raises(SchemaMismatch, match="order"):
        upsert(table, [], schema=CHANGES.set(1, pa.field("order", pa.string())))
    assert {path for path in files_below(table.path) - before if path.endswith("parquet")} == set()


def test_rows_are_not_appended_to_a_table_of_one_row_for_each_key(table: Table) -> None:
    upsert(table, [change_of(1, 1)])
    schema = schema_of(id=pa.int64(), order=pa.int64(), value=pa.string())
    with pytest.raises(TableError, match=r"keeps one row for each key .*mode=upsert"):
        put(table, [{"id": 1, "order": 2, "value": "b"}], schema)


def test_changes_are_not_merged_into_appended_rows(table: Table) -> None:
    put(table, rows_of(1))
    with pytest.raises(TableError, match="rows that were appended"):
        upsert(table, [change_of(1, 1)])


def test_a_table_of_another_key_or_order_is_refused(table: Table) -> None:
    upsert(table, [change_of(1, 1)])
    for rules in (MergeRules(key=("value",), order_by=("order",)), MergeRules(key=("id",)), HISTORY):
        with pytest.raises(TableError, match="was made with key id, order_by order, history none"):
            upsert(table, [change_of(1, 2)], rules)


def test_parquet_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="upsert into a Delta or an Iceberg table"):
        upsert(open_table(str(tmp_path / "t"), "parquet"), [change_of(1, 1)])


# -- other writers


def test_a_merge_that_lost_against_another_is_done_again_on_the_new_state(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    upsert(table, [change_of(1, 1)])
    other = type(table)(table.path)
    rivals = [[change_of(1, 7, "rival"), change_of(2, 7, is_deleted=True)], [change_of(3, 7, "rival")]]
    write = Merge.run

    def run_after_a_rival(self: Merge, *args: Any, **options: Any) -> Any:
        result = write(self, *args, **options)
        if rivals:
            upsert(other, rivals.pop(0))
        return result

    monkeypatch.setattr(Merge, "run", run_after_a_rival)
    upsert(table, [change_of(1, 5), change_of(2, 5), change_of(3, 9, "mine")], batch=0)
    assert tuples(read(table)) == [(1, 7, "rival"), (3, 9, "mine")]
    assert {os.path.basename(path) for path in files_below(table.path) if "part-" in path} >= {
        os.path.basename(path) for path in table.live_paths()
    }


def test_a_merge_that_always_loses_ends_with_an_error(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    upsert(table, [change_of(1, 1)])

    def lose(*_: Any) -> None:
        raise table.conflict("lost")  # type: ignore[attr-defined]

    monkeypatch.setattr(type(table), "_change", lose)
    before = table.live_paths()
    with pytest.raises(CommitConflict, match="changed by other writers"):
        upsert(table, [change_of(1, 5)])
    assert table.live_paths() == before
    left = {path for path in files_below(table.path) if path.endswith(".parquet") and "_penstock" not in path}
    assert len(left) == 1


# -- maintenance


def test_vacuum_keeps_the_deleted_keys_and_removes_what_failed_merges_left(table: Table) -> None:
    upsert(table, [change_of(1, 1), change_of(2, 1)])
    for order in (5, 6):
        upsert(table, [change_of(1, order, is_deleted=True)])
    staged(table, [change_of(9, 9)], LATEST, CHANGES)  # by tasks of a batch that was never committed
    listed = table.vacuum(0, is_dry_run=True)
    assert any("_penstock/changes/" in path for path in listed)
    assert sum("_penstock/deleted/" in path for path in listed) == 2  # a state, and its file
    assert sorted(table.vacuum(0, is_dry_run=False)) == sorted(listed)
    upsert(table, [change_of(1, 4)])
    assert tuples(read(table)) == [(2, 1, "a")]


def test_compacting_a_table_keeps_it_right(table: Table) -> None:
    upsert(table, [change_of(key, 1) for key in range(40)])
    upsert(table, [change_of(key, 1) for key in range(100, 105)])
    table.compact(1 << 20)
    upsert(table, [change_of(3, 2, "b"), change_of(101, 0, "late"), change_of(102, 2, is_deleted=True)])
    found = {row["id"]: row["value"] for row in read(table)}
    assert (len(found), found[3], found[101]) == (44, "b", "a")


def test_the_history_of_a_table_shows_the_batches(table: Table) -> None:
    upsert(table, [change_of(1, 1)], batch=0)
    upsert(table, [change_of(1, 2)], batch=1)
    newest = table.history(1)[0]
    assert (newest.query_id, newest.batch_id, newest.files_added) == ("q", 1, 1)
