"""What the decoder rejects, the explanation finds."""

import base64
import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.batch import BatchDecoder
from penstock.spark.decode.json.rows import JsonRowDecoder

SIMPLE: list[T.DataType] = [
    T.ByteType(),
    T.IntegerType(),
    T.LongType(),
    T.FloatType(),
    T.DoubleType(),
    T.BooleanType(),
    T.StringType(),
    T.BinaryType(),
    T.DateType(),
    T.TimestampType(),
    T.TimestampNTZType(),
    T.DecimalType(5, 2),
    T.DecimalType(38, 0),
]


def nested(inner: st.SearchStrategy[T.DataType]) -> st.SearchStrategy[T.DataType]:
    nullable = st.booleans()
    return (
        st.builds(T.ArrayType, inner, nullable)
        | st.builds(T.MapType, st.just(T.StringType()), inner, nullable)
        | st.builds(lambda kind, may_be_null: T.StructType().add("a", kind, may_be_null), inner, nullable)
    )


KINDS = st.recursive(st.sampled_from(SIMPLE), nested, max_leaves=3)
TEXTS = (
    st.text(max_size=5)
    | st.datetimes().map(str)
    | st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat())
    | st.dates().map(str)
    | st.decimals(allow_nan=True).map(str)
    | st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode())
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner),
    max_leaves=4,
)


@settings(deadline=None, max_examples=300)
@given(KINDS, st.booleans(), VALUES)
@example(T.DecimalType(5, 2), True, "1_0")
@example(T.DecimalType(5, 2), True, " 1")
@example(T.DecimalType(5, 2), True, 10**30)
@example(T.DoubleType(), True, 10**400)
@example(T.TimestampType(), True, "2000-01-01T00:00:00+0000")
@example(T.TimestampType(), True, "0000-01-01T00:00:00Z")
@example(T.TimestampType(), True, "9999-12-31T23:59:59-23:00")
@example(T.TimestampType(), True, "2000-01-01T23:59:60Z")
@example(T.BinaryType(), True, "YQ")
def test_every_reject_has_a_reason_of_its_own(kind: T.DataType, may_be_null: bool, value: Any) -> None:
    rows = JsonRowDecoder(T.StructType().add("column", kind, may_be_null))
    data = json.dumps({"column": value}).encode()
    (column,), (error,), _ = BatchDecoder(rows).decode([data])
    assert len(column) == 1
    if error is not None:
        assert column.to_pylist() == [None]
        assert "column" in error
        assert "does not fit the schema" not in error
    elif value is None:
        assert may_be_null


@settings(deadline=None)
@given(
    st.binary(max_size=20)
    | st.text(max_size=20).map(str.encode)
    | VALUES.map(lambda v: json.dumps(v).encode())
)
def test_any_bytes_are_a_row_or_a_reject(data: bytes) -> None:
    rows = JsonRowDecoder(T.StructType().add("a", T.StringType(), nullable=False))
    (column,), (error,), _ = BatchDecoder(rows).decode([data])
    assert (error is None) == (column.to_pylist()[0] is not None)
    assert error is None or "does not fit the schema" not in error
