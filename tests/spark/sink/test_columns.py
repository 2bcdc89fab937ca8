"""Which rows can become records, and what is said about the others."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from penstock.spark.sink.columns import check_schema, rows_of
from penstock.spark.sink.errors import RowError

TEXT, BINARY, INT, LONG = StringType(), BinaryType(), IntegerType(), LongType()
HEADERS = ArrayType(StructType().add("key", TEXT).add("value", BINARY))


def schema(**columns: DataType) -> StructType:
    made = StructType()
    for name, kind in columns.items():
        made = made.add(name, kind)
    return made


def test_the_columns_of_sparks_kafka_sink_are_taken_and_others_ignored() -> None:
    check_schema(
        schema(key=BINARY, value=TEXT, topic=TEXT, partition=INT, headers=HEADERS, extra=LONG), topic=None
    )
    check_schema(schema(value=BINARY), topic="t")


@pytest.mark.parametrize(
    ("columns", "topic", "said"),
    [
        (schema(key=TEXT), "t", "Required attribute 'value' not found"),
        (schema(value=TEXT), None, "topic option required when no 'topic' attribute is present"),
        (schema(value=LONG), "t", "value attribute unsupported type bigint"),
        (schema(value=TEXT, key=LONG), "t", "key must be a STRING or BINARY"),
        (schema(value=TEXT, topic=BINARY), None, "topic must be a STRING"),
        (schema(value=TEXT, partition=LONG), "t", "partition must be a INT"),
        (schema(value=TEXT, headers=TEXT), "t", "headers must be a ARRAY<STRUCT<"),
        (schema(value=TEXT, headers=ArrayType(schema(key=TEXT, value=TEXT))), "t", "headers attribute"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_runs(
    columns: StructType, topic: str | None, said: str
) -> None:
    with pytest.raises(RowError, match=said):
        check_schema(columns, topic)


def test_text_becomes_bytes_and_headers_keep_their_nulls() -> None:
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    columns: dict[str, pa.Array[Any]] = {
        "key": pa.array(["é", None], pa.large_string()),
        "value": pa.array([b"\xff", None], pa.binary()),
        "headers": pa.array(
            [[{"key": "a", "value": None}, {"key": "a", "value": b"1"}], None], pa.list_(header)
        ),
    }
    batch = pa.record_batch(columns)
    rows = rows_of(batch, "t")
    assert rows.keys is not None
    assert rows.keys.to_pylist() == ["é".encode(), None]
    assert rows.values.to_pylist() == [b"\xff", None]
    assert rows.headers == [(("a", None), ("a", b"1")), ()]
    assert rows.topics is None


def test_a_row_without_a_topic_is_refused_unless_an_option_names_one() -> None:
    batch = pa.record_batch({"value": pa.array(["1", "2"]), "topic": pa.array(["t", None])})
    with pytest.raises(RowError, match="null topic present in the data"):
        rows_of(batch, None)
    assert rows_of(batch, "t").topics is None


def test_a_header_without_a_name_is_refused() -> None:
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    batch = pa.record_batch(
        {"value": pa.array(["1"]), "headers": pa.array([[{"key": None, "value": b""}]], pa.list_(header))}
    )
    with pytest.raises(RowError, match="null header key"):
        rows_of(batch, "t")
