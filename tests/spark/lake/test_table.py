"""What every format promises, without Spark."""

import datetime as dt
import decimal
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.lake.conditions import Condition, Operator
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.files import FileLayout
from penstock.spark.lake.formats import TABLE_FORMATS, open_table
from penstock.spark.lake.schema import table_schema
from penstock.spark.lake.table import Commit, RowRange, Table
from tests.spark.lake.support import (
    SCHEMA,
    commit_at_once,
    ids,
    prepared,
    put,
    read,
    rows_of,
    schema_of,
    write_batches_while,
)

HOUR_MS = 3_600_000


@pytest.fixture(params=TABLE_FORMATS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    wanted: str = request.param
    return open_table(str(tmp_path / "a table"), wanted)


def files_below(path: str) -> set[str]:
    return {os.path.join(place, name) for place, _, names in os.walk(path) for name in names}


def test_a_batch_is_in_the_table_once_however_often_it_is_written(table: Table) -> None:
    assert put(table, rows_of(1, 2), batch=("q", 0))
    assert put(table, rows_of(3), batch=("q", 1))
    assert not put(table, rows_of(3), batch=("q", 1))
    assert not put(table, rows_of(1, 2), batch=("q", 0))
    assert ids(table) == [1, 2, 3]


def test_a_batch_that_comes_again_in_other_files_and_another_order_changes_nothing(table: Table) -> None:
    put(table, rows_of(1, 2, 3, 4), batch=("q", 7), partition_by=("place",))
    again = [*rows_of(4, 2, place="there"), *rows_of(3, 1)]
    assert not put(table, again, batch=("q", 7), partition_by=("place",))
    assert ids(table) == [1, 2, 3, 4]


def test_batches_of_two_queries_do_not_know_each_other(table: Table) -> None:
    put(table, rows_of(1), batch=("one", 5))
    assert put(table, rows_of(2), batch=("two", 5))
    assert put(table, rows_of(3), batch=("two", 6))
    assert ids(table) == [1, 2, 3]


def test_rows_that_are_no_batch_are_added_each_time(table: Table) -> None:
    put(table, rows_of(1))
    put(table, rows_of(1))
    assert ids(table) == [1, 1]


def test_overwriting_replaces_all_rows_and_a_replay_does_not_bring_them_back(table: Table) -> None:
    put(table, rows_of(1, 2), batch=("q", 0))
    put(table, rows_of(3), replaces_all=True, batch=("q", 1))
    assert not put(table, rows_of(3), replaces_all=True, batch=("q", 1))
    assert ids(table) == [3]


def test_overwriting_with_nothing_leaves_an_empty_table(table: Table) -> None:
    put(table, rows_of(1, 2))
    table.commit(Commit(files=(), schema=SCHEMA, replaces_all=True))
    assert ids(table) == []


def test_a_table_can_be_made_before_it_has_rows(table: Table) -> None:
    assert table.state() is None
    table.commit(Commit(schema=SCHEMA, partition_by=("place",)))
    state = table.state()
    assert state is not None
    assert (state.schema, state.partition_by) == (SCHEMA, ("place",))
    assert read(table) == []
    assert put(table, rows_of(1), batch=("q", 0))
    assert ids(table) == [1]


def test_two_drivers_that_commit_the_same_batch_at_once_commit_it_once(table: Table) -> None:
    put(table, rows_of(0), batch=("q", 0))
    assert commit_at_once(table, drivers=4) == 1
    assert ids(table) == [0, 1]


def test_queries_that_write_at_once_all_get_their_rows_in(table: Table) -> None:
    def stream(query: str, first: int) -> None:
        for batch_id in range(4):
            put(table, rows_of(first + batch_id), batch=(query, batch_id))

    threads = [threading.Thread(target=stream, args=(f"q{at}", at * 10)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ids(table) == sorted(at * 10 + batch_id for at in range(3) for batch_id in range(4))


ALL_KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "flag": (pa.bool_(), [True, None]),
    "small": (pa.int16(), [-3, None]),
    "number": (pa.int64(), [2**62, None]),
    "real": (pa.float64(), [1.5, None]),
    "price": (pa.decimal128(20, 4), [decimal.Decimal("-12345678901.2345"), None]),
    "text": (pa.string(), ["é\n日本", None]),
    "bytes": (pa.binary(), [b"\x00\xff", None]),
    "day": (pa.date32(), [dt.date(1969, 12, 31), None]),
    "at": (pa.timestamp("us", "UTC"), [dt.datetime(2024, 1, 2, 3, 4, 5, 678901, dt.UTC), None]),
    "local": (pa.timestamp("us"), [dt.datetime(1960, 1, 2, 3, 4, 5, 678901), None]),
    "list": (pa.list_(pa.field("element", pa.int32())), [[1, None], None]),
    "map": (pa.map_(pa.string(), pa.float64()), [[("a", 1.0), ("b", None)], None]),
    "struct": (
        pa.struct(
            [("a", pa.int32()), ("deep", pa.struct([("l", pa.list_(pa.field("element", pa.string())))]))]
        ),
        [{"a": 1, "deep": {"l": ["x", None]}}, None],
    ),
}


def test_values_of_every_kind_and_nulls_come_back_as_they_went_in(table: Table) -> None:
    schema = schema_of(**{name: kind for name, (kind, _) in ALL_KINDS.items()})
    rows = [{name: values[at] for name, (_, values) in ALL_KINDS.items()} for at in range(2)]
    put(table, rows, schema)
    assert read(table) == rows
    table.compact(1 << 20)
    assert read(table) == rows


PARTITION_KINDS: dict[str, tuple[pa.DataType, Any]] = {
    "text": (pa.string(), "a/b=c %2F'\"é日 #?{}"),
    "number": (pa.int32(), -7),
    "flag": (pa.bool_(), False),
    "day": (pa.date32(), dt.date(2024, 2, 29)),
    "at": (pa.timestamp("us", "UTC"), dt.datetime(2024, 2, 29, 1, 2, 3, 4, dt.UTC)),
    "local": (pa.timestamp("us"), dt.datetime(2024, 2, 29, 1, 2, 3)),
    "price": (pa.decimal128(10, 2), decimal.Decimal("1.50")),
}


@pytest.mark.parametrize("name", PARTITION_KINDS)
def test_partition_values_of_every_kind_and_nulls_come_back_as_they_went_in(table: Table, name: str) -> None:
    kind, value = PARTITION_KINDS[name]
    rows = [{"id": 1, "part": value}, {"id": 2, "part": None}]
    put(table, rows, schema_of(id=pa.int32(), part=kind), partition_by=("part",))
    put(table, rows[:1], schema_of(id=pa.int32(), part=kind))
    assert sorted(read(table), key=lambda row: row["id"]) == [rows[0], *rows]
    table.compact(1 << 20)
    assert sorted(read(table), key=lambda row: row["id"]) == [rows[0], *rows]


def test_a_column_name_with_odd_characters_can_partition(table: Table) -> None:
    kinds: dict[str, pa.DataType] = {"id": pa.int32(), "wo=w/é": pa.string()}
    schema = schema_of(**kinds)
    rows = [{"id": 1, "wo=w/é": "x"}]
    put(table, rows, schema, partition_by=("wo=w/é",))
    assert read(table) == rows


def test_a_new_column_is_null_in_older_rows(table: Table) -> None:
    put(table, rows_of(1))
    wider = schema_of(id=pa.int32(), place=pa.string(), at=pa.timestamp("us"))
    with pytest.raises(TableError, match="has no column at"):
        put(table, [{"id": 2, "place": "x", "at": None}], wider)
    at = dt.datetime(2024, 1, 1)
    put(table, [{"id": 2, "place": "x", "at": at}], wider, merge_schema=True)
    put(table, rows_of(3))
    found = {row["id"]: row["at"] for row in read(table)}
    assert found == {1: None, 2: at, 3: None}


def test_a_column_is_widened_where_the_format_knows_how(table: Table) -> None:
    put(table, rows_of(1))
    wider = schema_of(id=pa.int64(), place=pa.string())
    rows = [{"id": 2**40, "place": "x"}]
    if table.can_widen:
        put(table, rows, wider, merge_schema=True)
        assert ids(table) == [1, 2**40]
        table.compact(1 << 20)
        assert ids(table) == [1, 2**40]
    else:
        with pytest.raises(
            TableError, match=r"cannot store column id \(int64 in the rows, int32 in the table\)"
        ):
            put(table, rows, wider, merge_schema=True)
    put(table, rows_of(3))
    assert 3 in ids(table)


def test_a_table_keeps_its_partition_columns(table: Table) -> None:
    put(table, rows_of(1), partition_by=("place",))
    with pytest.raises(TableError, match="is partitioned by place, not by id: leave partition_by out"):
        put(table, rows_of(2), partition_by=("id",))
    put(table, rows_of(2))
    state = table.state()
    assert state is not None
    assert state.partition_by == ("place",)


def test_small_files_are_merged_and_rows_stay(table: Table) -> None:
    for at in range(4):
        put(table, [*rows_of(at), *rows_of(at + 10, place=None)], batch=("q", at), partition_by=("place",))
    assert table.size().files == 8
    done = table.compact(1 << 20)
    assert (done.files_before, done.files_after) == (8, 2)
    assert (table.size().files, table.size().rows) == (2, 8)
    assert ids(table) == [0, 1, 2, 3, 10, 11, 12, 13]
    assert not put(table, rows_of(3), batch=("q", 3))
    assert table.compact(1 << 20).files_before == 0


def test_merging_while_a_stream_writes_loses_and_doubles_nothing(table: Table) -> None:
    write_batches_while(table, lambda: table.compact(1 << 20).files_before)
    assert ids(table) == list(range(12))


def test_history_lists_the_batch_of_each_version_newest_first(table: Table) -> None:
    put(table, rows_of(1, 2), batch=("q", 0))
    put(table, rows_of(3), batch=("q", 1))
    table.compact(1 << 20)
    versions = table.history(10)
    assert [(each.query_id, each.batch_id) for each in versions] == [(None, None), ("q", 1), ("q", 0)]
    assert [each.rows_added for each in versions[1:]] == [1, 2]
    assert versions[0].files_removed == 2
    assert len(table.history(1)) == 1


def test_vacuum_removes_files_of_dead_attempts_only_when_they_are_old(table: Table) -> None:
    put(table, rows_of(1), batch=("q", 0))
    before = files_below(table.path)
    prepared(table, rows_of(2))  # a task whose driver died
    orphan = (files_below(table.path) - before).pop()
    assert table.vacuum(HOUR_MS, is_dry_run=True) == []
    os.utime(orphan, (0, 0))
    assert [os.path.join(table.path, each) for each in table.vacuum(HOUR_MS, is_dry_run=True)] == [orphan]
    assert os.path.exists(orphan)
    table.vacuum(HOUR_MS, is_dry_run=False)
    assert not os.path.exists(orphan)
    assert ids(table) == [1]


def test_vacuum_removes_what_merging_left_and_a_replay_is_still_known(table: Table) -> None:
    for at in range(3):
        put(table, rows_of(at), batch=("q", at))
    table.compact(1 << 20)
    table.vacuum(0, is_dry_run=False)
    parquet = [
        path for path in files_below(table.path) if path.endswith(".parquet") and "_delta_log" not in path
    ]
    assert len(parquet) == 1
    assert ids(table) == [0, 1, 2]
    assert not put(table, rows_of(2), batch=("q", 2))
    assert put(table, rows_of(3), batch=("q", 3))
    assert ids(table) == [0, 1, 2, 3]


def test_live_paths_are_the_files_that_were_committed(table: Table) -> None:
    files = prepared(table, rows_of(1, place="a/é b%"), partition_by=("place",))
    table.commit(Commit(files=files, schema=SCHEMA, partition_by=("place",)))
    prepared(table, rows_of(2))
    assert table.live_paths() == {file.path for file in files}


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("==", "b", {2}),
        (">", "a", {2, 3}),
        (">=", "b", {2, 3}),
        ("<", "c", {1, 2}),
        ("<=", "a", {1}),
        ("in", ("a", "c"), {1, 3}),
        ("is null", None, {4}),
        ("is not null", None, {1, 2, 3}),
        ("starts with", "c", {3}),
    ],
)
def test_files_whose_partition_cannot_match_are_not_read(
    table: Table, operator: Operator, value: Any, expected: set[int]
) -> None:
    rows = [row for at, place in enumerate("abc", 1) for row in rows_of(at, place=place)]
    put(table, [*rows, *rows_of(4, place=None)], partition_by=("place",))
    splits = table.splits([Condition(column="place", operator=operator, value=value)])
    found = {row["id"] for split in splits for batch in split.batches(["id"]) for row in batch.to_pylist()}
    assert found == expected


def test_a_date_is_a_condition_that_every_format_knows(table: Table) -> None:
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    rows = [{"id": at, "day": day} for at, day in enumerate(days)]
    put(table, rows, schema_of(id=pa.int32(), day=pa.date32()), partition_by=("day",))
    splits = table.splits([Condition(column="day", operator=">", value=days[0])])
    assert [row for split in splits for batch in split.batches(["id"]) for row in batch.to_pylist()] == [
        {"id": 1}
    ]


def test_a_table_in_one_format_is_not_written_in_another(table: Table) -> None:
    put(table, rows_of(1))
    others = [each for each in TABLE_FORMATS if type(open_table(table.path + "x", each)) is not type(table)]
    assert len(others) == 2
    for other in others:
        with pytest.raises(TableError, match="is a table in the format"):
            open_table(table.path, other)
    assert type(open_table(table.path)) is type(table)


def test_the_layout_of_files_is_that_of_the_table_s_columns(table: Table) -> None:
    layout: FileLayout = table.layout(table_schema(SCHEMA), ("place",))
    assert layout.location.path == table.path
    assert layout.schema.names == ["id", "place"]


TIMED = schema_of(id=pa.int32(), at=pa.timestamp("us", "UTC"), day=pa.date32())


def timed(number: int, hour: int | None) -> dict[str, object]:
    at = None if hour is None else dt.datetime(2026, 1, 1, hour, tzinfo=dt.UTC)
    return {"id": number, "at": at, "day": None if at is None else at.date()}


def hours(column: str, start: int, end: int) -> RowRange:
    first = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return RowRange(
        column=column, start=first + dt.timedelta(hours=start), end=first + dt.timedelta(hours=end)
    )


def test_the_rows_of_a_range_are_replaced_in_one_commit_where_the_format_can(table: Table) -> None:
    put(table, [timed(1, 1), timed(2, 2), timed(3, 2), timed(4, 3), timed(5, None)], TIMED, batch=("q", 3))
    new = pa.Table.from_pylist([timed(20, 2)], schema=TIMED)
    if type(table).__name__ == "ParquetTable":
        with pytest.raises(TableError, match="only Delta and Iceberg tables can"):
            table.replace_rows(new, hours("at", 2, 3))
        return
    table.replace_rows(new, hours("at", 2, 3))
    assert ids(table) == [1, 4, 5, 20]
    assert not put(table, [timed(9, 9)], TIMED, batch=("q", 3))  # the batches of queries stay known
    table.replace_rows(new.slice(0, 0), hours("day", 0, 24))
    assert ids(table) == [5]
    for column, end, says in (
        ("id", 24, "its type is int32"),
        ("x", 24, "no such column"),
        ("day", 25, "midnight"),
    ):
        with pytest.raises(TableError, match=says):
            table.replace_rows(new, hours(column, 0, end))
