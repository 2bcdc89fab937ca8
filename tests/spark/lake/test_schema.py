from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.lake.errors import SchemaMismatch
from penstock.spark.lake.schema import change_for, conform, table_schema
from tests.spark.lake.support import schema_of

TABLE = schema_of(id=pa.int64(), name=pa.string())


def test_the_first_rows_decide_the_schema_of_a_table() -> None:
    change = change_for(None, TABLE, where="t")
    assert change.schema == TABLE
    assert change.added == ("id", "name")


def test_rows_of_the_table_s_own_schema_change_nothing() -> None:
    assert not change_for(TABLE, TABLE, where="t")


def test_a_new_column_is_refused_by_name_unless_the_schema_may_change() -> None:
    rows = pa.schema([*TABLE, pa.field("extra", pa.date32())])
    with pytest.raises(SchemaMismatch, match=r"t has no column extra \(date32\[day\]\): .*merge_schema=true"):
        change_for(TABLE, rows, where="t")


def test_a_new_column_is_added_at_the_end_when_the_schema_may_change() -> None:
    rows = schema_of(extra=pa.date32(), id=pa.int64())
    change = change_for(TABLE, rows, where="t", merge_schema=True)
    assert change.schema.names == ["id", "name", "extra"]
    assert change.added == ("extra",)


def test_rows_of_a_narrower_type_need_no_change() -> None:
    assert not change_for(TABLE, schema_of(id=pa.int16()), where="t")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
        (pa.decimal128(10, 2), pa.decimal128(12, 2)),
    ],
)
def test_a_wider_type_widens_the_table_where_the_format_can_and_the_schema_may_change(
    old: pa.DataType, new: pa.DataType
) -> None:
    table, rows = schema_of(n=old), schema_of(n=new)
    change = change_for(table, rows, where="t", merge_schema=True, can_widen=True)
    assert change.schema == rows
    assert change.widened == ("n",)
    with pytest.raises(SchemaMismatch, match="has no column n"):
        change_for(table, rows, where="t", can_widen=True)
    with pytest.raises(SchemaMismatch, match="cannot store column n"):
        change_for(table, rows, where="t", merge_schema=True)


def test_every_column_of_another_type_is_named_with_both_types() -> None:
    rows = schema_of(id=pa.string(), name=pa.int64())
    with pytest.raises(SchemaMismatch) as refused:
        change_for(TABLE, rows, where="t", merge_schema=True, can_widen=True)
    assert "columns id (string in the rows, int64 in the table), name (int64 in the rows, string" in str(
        refused.value
    )


def test_a_decimal_of_another_scale_is_another_type() -> None:
    table, rows = schema_of(n=pa.decimal128(10, 2)), schema_of(n=pa.decimal128(12, 4))
    with pytest.raises(SchemaMismatch, match="cannot store column n"):
        change_for(table, rows, where="t", merge_schema=True, can_widen=True)


def test_a_column_that_differs_only_in_case_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match=r"Id \(the table has id\): use the table's spelling"):
        change_for(TABLE, schema_of(Id=pa.int64()), where="t", merge_schema=True)


def test_a_column_that_the_rows_have_twice_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="have columns ID, id more than once"):
        change_for(None, schema_of(id=pa.int64(), ID=pa.int64()), where="t")


def test_stored_fields_may_be_null_and_times_are_microseconds_in_utc() -> None:
    fields: list[pa.Field[Any]] = [
        pa.field("at", pa.timestamp("ns", "Europe/Bern"), nullable=False),
        pa.field("local", pa.timestamp("ms")),
        pa.field("list", pa.list_(pa.field("item", pa.large_string(), nullable=False))),
        pa.field("map", pa.map_(pa.string(), pa.timestamp("s", "UTC"))),
        pa.field("struct", pa.struct([pa.field("inner", pa.large_binary(), nullable=False)])),
    ]
    stored = table_schema(pa.schema(fields))
    assert all(field.nullable for field in stored)
    assert stored.field("at").type == pa.timestamp("us", "UTC")
    assert stored.field("local").type == pa.timestamp("us")
    assert stored.field("list").type == pa.list_(pa.field("element", pa.string()))
    assert stored.field("map").type == pa.map_(pa.string(), pa.timestamp("us", "UTC"))
    assert stored.field("struct").type == pa.struct([pa.field("inner", pa.binary())])


@pytest.mark.parametrize("kind", [pa.null(), pa.duration("us"), pa.month_day_nano_interval(), pa.struct([])])
def test_a_type_that_no_table_has_is_refused_by_name(kind: pa.DataType) -> None:
    with pytest.raises(SchemaMismatch, match="tables cannot store column odd"):
        table_schema(schema_of(fine=pa.int64(), odd=kind))


def test_rows_are_brought_to_the_table_s_columns_by_name() -> None:
    rows = pa.RecordBatch.from_pydict({"name": ["a"], "id": pa.array([1], pa.int16())})
    target = schema_of(id=pa.int64(), extra=pa.date32(), name=pa.string())
    assert conform(rows, target).to_pylist() == [{"id": 1, "extra": None, "name": "a"}]
