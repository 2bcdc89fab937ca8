import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.lake.errors import TableError
from penstock.spark.lake.partitions import (
    check_partition_columns,
    directory_of,
    split,
    text_of,
    value_of,
    values_in,
)
from tests.spark.lake.support import schema_of

ODD = [
    "a/b",
    "x=y",
    "50%",
    "%2F",
    "q'\"",
    "é ü",
    " ",
    "#?*:",
    "back\\slash",
    "tab\t",
    "{}[]^",
    "日本",
    "a%20b",
]


def test_rows_are_split_by_every_combination_of_values_and_keep_their_order() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"a": ["x", "y", "x", None, "x"], "b": [1, 1, 2, 1, 1], "n": [0, 1, 2, 3, 4]}
    )
    found = {values: rows.column("n").to_pylist() for values, rows in split(batch, ["a", "b"])}
    assert found == {("x", "1"): [0, 4], ("x", "2"): [2], ("y", "1"): [1], (None, "1"): [3]}


def test_rows_of_a_table_without_partitions_stay_together() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1, 2]})
    assert [(values, rows.num_rows) for values, rows in split(batch, [])] == [((), 2)]


@pytest.mark.parametrize("columns", [[], ["a"]])
def test_no_rows_make_no_partition(columns: list[str]) -> None:
    assert list(split(pa.RecordBatch.from_pydict({"a": pa.array([], pa.string())}), columns)) == []


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", None]), st.sampled_from([None, 1, 2])), min_size=1))
def test_splitting_keeps_every_row_once(keys: list[tuple[str | None, int | None]]) -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            "a": pa.array([key[0] for key in keys], pa.string()),
            "b": pa.array([key[1] for key in keys], pa.int64()),
            "n": pa.array(range(len(keys))),
        }
    )
    found: list[tuple[Any, Any]] = [
        (values, row) for values, rows in split(batch, ["a", "b"]) for row in rows.column("n").to_pylist()
    ]
    assert sorted(row for _, row in found) == list(range(len(keys)))
    assert all(values == (text_of(keys[row][0]), text_of(keys[row][1])) for values, row in found)


@pytest.mark.parametrize("value", ODD)
def test_odd_characters_in_a_directory_s_name_come_back_as_they_were(value: str) -> None:
    path = directory_of(["place"], (value,)) + "part.parquet"
    assert path.count("/") == 1
    assert values_in(path, ["place"]) == (value,)


def test_null_and_an_empty_string_are_hive_s_default_partition() -> None:
    assert directory_of(["a", "b"], (None, text_of(""))) == (
        "a=__HIVE_DEFAULT_PARTITION__/b=__HIVE_DEFAULT_PARTITION__/"
    )
    assert values_in("a=__HIVE_DEFAULT_PARTITION__/x.parquet", ["a"]) == (None,)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, pa.bool_(), "true"),
        (-5, pa.int16(), "-5"),
        (dt.date(2024, 2, 29), pa.date32(), "2024-02-29"),
        (
            dt.datetime(2024, 2, 29, 1, 2, 3, 45, dt.UTC),
            pa.timestamp("us", "UTC"),
            "2024-02-29 01:02:03.000045",
        ),
        (dt.datetime(1, 1, 1), pa.timestamp("us"), "0001-01-01 00:00:00.000000"),
        (decimal.Decimal("1.50"), pa.decimal128(10, 2), "1.50"),
        ("text", pa.string(), "text"),
        (None, pa.date32(), None),
    ],
)
def test_values_are_written_as_delta_writes_them_and_read_back(
    value: Any, kind: pa.DataType, text: str | None
) -> None:
    assert text_of(value) == text
    assert value_of(text, kind) == pa.scalar(value, kind)


def test_a_value_that_no_directory_can_be_named_by_is_refused() -> None:
    with pytest.raises(TableError, match="too long for a directory"):
        directory_of(["a"], ("é" * 130,))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("missing",), "cannot be partitioned by missing: the rows have a, b, c"),
        (("b",), "cannot be partitioned by b, a double"),
        (("c",), "cannot be partitioned by c, a list"),
    ],
)
def test_columns_that_cannot_partition_are_refused_by_name(columns: tuple[str, ...], message: str) -> None:
    schema = schema_of(a=pa.string(), b=pa.float64(), c=pa.list_(pa.int32()))
    with pytest.raises(TableError, match=message):
        check_partition_columns(schema, columns, "t")


def test_a_table_is_not_partitioned_by_all_of_its_columns() -> None:
    with pytest.raises(TableError, match="by all of its columns"):
        check_partition_columns(schema_of(a=pa.string()), ("a",), "t")
