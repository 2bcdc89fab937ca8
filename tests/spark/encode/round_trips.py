"""Columns of any type with their values, by Hypothesis, and what encoding and decoding them gives."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from penstock.spark.encode.batch import ValueEncoder, encode_array
from penstock.spark.encode.schemas import Place

PLACE = Place(topic="shop.orders")
NAMES = st.sampled_from(["a", "b_1", "Amount", "_x"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)
INSTANTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.UTC))
Case = tuple[pa.DataType, Any]

_SCALARS: list[Any] = [
    st.tuples(st.just(pa.bool_()), st.booleans()),
    st.tuples(st.just(pa.int8()), st.integers(-(1 << 7), (1 << 7) - 1)),
    st.tuples(st.just(pa.int32()), st.integers(-(1 << 31), (1 << 31) - 1)),
    st.tuples(st.just(pa.int64()), st.integers(-(1 << 63), (1 << 63) - 1)),
    st.tuples(st.just(pa.float32()), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    st.tuples(st.just(pa.float64()), st.floats(allow_nan=False, allow_infinity=False)),
    st.tuples(st.just(pa.string()), TEXTS),
    st.tuples(st.just(pa.binary()), st.binary(max_size=6)),
    st.tuples(st.just(pa.date32()), st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1))),
    st.tuples(st.just(pa.timestamp("us", "UTC")), INSTANTS),
    st.tuples(
        st.just(pa.decimal128(12, 3)),
        st.decimals(Decimal("-999999999.999"), Decimal("999999999.999"), places=3),
    ),
]


def _nested(inner: Any) -> Any:
    lists = inner.map(lambda case: (pa.list_(case[0]), [case[1], None, case[1]]))
    maps = inner.map(lambda case: (pa.map_(pa.string(), case[0]), [("k", case[1]), ("", None)]))
    structs = st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(_struct)
    return lists | maps | structs


def _struct(cases: dict[str, Case]) -> Case:
    kind = pa.struct([pa.field(name, case[0]) for name, case in cases.items()])
    return kind, {name: case[1] for name, case in cases.items()}


VALUES = st.recursive(st.one_of(_SCALARS), _nested, max_leaves=4)
ROWS = st.dictionaries(NAMES, VALUES | VALUES.map(lambda case: (case[0], None)), min_size=1, max_size=4).map(
    _struct
)


def encoded(encoder: ValueEncoder | None, kind: pa.DataType, *values: Any) -> list[bytes | str | None]:
    """Return the bodies, and the reasons of the values that have none."""
    assert encoder is not None
    bodies, errors = encode_array(encoder.writer(), pa.array(values, kind))
    return [body if error is None else error for body, error in zip(bodies, errors, strict=True)]


def body_of(encoder: ValueEncoder | None, kind: pa.DataType, value: Any) -> bytes:
    (body,) = encoded(encoder, kind, value)
    assert isinstance(body, bytes), body
    return body


def plain(kind: pa.DataType, value: Any) -> Any:
    """Return the value as Arrow gives it back: maps as lists of pairs."""
    made: Any = pa.array([value], kind)
    return made.to_pylist()[0]
