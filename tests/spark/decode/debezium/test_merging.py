"""Columns of events before and after a change of their table."""

from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.decode.debezium.merging import merge_columns, wider


def schema(**columns: pa.DataType) -> Any:
    return pa.schema([pa.field(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (pa.int16(), pa.int64(), pa.int64()),
        (pa.int64(), pa.int32(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.float32(), pa.int16(), pa.float32()),
        (pa.int64(), pa.float32(), pa.float64()),
        (pa.decimal128(5, 2), pa.decimal128(6, 0), pa.decimal128(8, 2)),
        (pa.decimal128(38, 2), pa.decimal128(38, 10), pa.decimal128(38, 10)),
        (pa.string(), pa.int32(), pa.string()),
        (pa.int32(), pa.string(), pa.string()),
        (pa.date32(), pa.timestamp("us"), pa.timestamp("us")),
    ],
)
def test_a_column_gets_the_type_that_holds_both(
    one: pa.DataType, other: pa.DataType, expected: pa.DataType
) -> None:
    assert wider(one, other) == expected


def test_columns_of_the_table_come_first_and_new_ones_in_the_order_of_the_events() -> None:
    table = schema(b=pa.int64(), gone=pa.string())
    before, after = schema(a=pa.int32(), b=pa.int32()), schema(a=pa.int32(), b=pa.int32(), c=pa.string())
    merged = merge_columns(table, [after, before])
    assert merged == schema(b=pa.int64(), gone=pa.string(), a=pa.int32(), c=pa.string())
    assert merge_columns(None, [after, before]) == after
