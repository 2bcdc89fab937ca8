"""JSON values as rows, and the reasons of those that are none. No Spark: batches are decoded in this process."""

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.batch import NULL_VALUE, BatchDecoder, DecoderError
from penstock.spark.decode.json.rows import JsonRowDecoder, envelope_schema

ORDER = (
    T.StructType()
    .add("orderId", T.StringType(), nullable=False)
    .add("amount", T.DoubleType())
    .add("quantity", T.IntegerType())
    .add("at", T.TimestampType())
)


def one_column(kind: T.DataType, comment: str | None = None) -> T.StructType:
    return T.StructType().add("a", kind, metadata={"comment": comment} if comment else None)


def decoded(rows: JsonRowDecoder, *values: bytes | None) -> list[Any]:
    """For each wanted value its columns, or its reason as text."""
    columns, errors, wanted = BatchDecoder(rows).decode(values)
    lists = [column.to_pylist() for column in columns]
    assert len(errors) == len(wanted) == len(lists[0])
    return [
        error if error is not None else tuple(each[at] for each in lists) for at, error in enumerate(errors)
    ]


def reason(schema: T.StructType, value: bytes) -> str:
    (found,) = decoded(JsonRowDecoder(schema), value)
    assert isinstance(found, str), f"{value!r} was taken as {found}"
    return found


def value_of(kind: T.DataType, value: bytes) -> Any:
    (found,) = decoded(JsonRowDecoder(one_column(kind)), value)
    assert isinstance(found, tuple), f"{value!r} was rejected: {found}"
    return found[0]


def test_an_object_becomes_columns() -> None:
    value = b'{"orderId":"o1","amount":3,"quantity":2,"at":"2026-05-04T12:00:00+02:00","unknown":[]}'
    noon = dt.datetime(2026, 5, 4, 10, tzinfo=dt.UTC)
    assert decoded(JsonRowDecoder(ORDER), value) == [("o1", 3.0, 2, noon)]


def test_what_is_not_required_may_be_missing_or_null() -> None:
    assert decoded(JsonRowDecoder(ORDER), b'{"orderId":"o1","amount":null}') == [("o1", None, None, None)]


def test_bad_records_leave_their_neighbours_alone() -> None:
    good = b'{"orderId":"o1"}'
    found = decoded(JsonRowDecoder(ORDER), good, b"{", good)
    assert [isinstance(each, tuple) for each in found] == [True, False, True]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b'{"orderId":"o1","amount":"abc"}', 'amount: expected double, found string "abc"'),
        (b'{"orderId":"o1","amount":"1.5"}', 'amount: expected double, found string "1.5"'),
        (b'{"orderId":"o1","amount":true}', "amount: expected double, found boolean true"),
        (b'{"orderId":"o1","amount":1e400}', "amount: 1e400 is out of range for double"),
        (b'{"orderId":"o1","quantity":1.5}', "quantity: expected int, found number 1.5"),
        (b'{"orderId":"o1","quantity":1.0}', "quantity: expected int, found number 1.0"),
        (b'{"orderId":"o1","quantity":1e2}', "quantity: expected int, found number 1e2"),
        (b'{"orderId":"o1","quantity":3000000000}', "quantity: 3000000000 is out of range for int"),
        (b'{"orderId":"o1","quantity":[]}', "quantity: expected int, found an array"),
        (b'{"orderId":7}', "orderId: expected string, found number 7"),
        (b'{"orderId":{"a":1}}', "orderId: expected string, found an object"),
        (b"{}", "orderId: required, but missing"),
        (b'{"orderId":null}', "orderId: required, but null"),
        (b'{"orderId":"o1","at":"yesterday"}', 'at: expected timestamp, found string "yesterday"'),
        (b'{"orderId":"","at":"2026-02-30T00:00:00Z"}', 'at: expected timestamp, found string "2026-02-30T00:00:00Z"'),
        (b'{"orderId":"o1","at":1700000000}', "at: expected timestamp, found number 1700000000"),
        (b'{"amount":"x"}', 'orderId: required, but missing; amount: expected double, found string "x"'),
        (b"", "empty value"),
        (b" \n", "empty value"),
        (b"null", "expected an object, found null"),
        (b"5", "expected an object, found number 5"),
        (b'[{"orderId":"o1"}]', "expected an object, found an array"),
        (b'{"orderId":"o1"} x', "not JSON: text after the end at character 17"),
        (b'{"orderId":"o1"}{"orderId":"o2"}', "not JSON: text after the end at character 16"),
        (b'{"orderId":"o1"', "not JSON: expecting ',' delimiter at character 15"),
        (b"{'orderId':'o1'}", "not JSON: expecting property name enclosed in double quotes at character 1"),
        (b'{"orderId":"o1","amount":NaN}', "not JSON: NaN is not a JSON number"),
        (b'{"orderId":"o1","amount":-Infinity}', "not JSON: -Infinity is not a JSON number"),
        (b'{"orderId":"o\xff1"}', "invalid UTF-8 at byte 13"),
        (b'{"orderId":"o1","unknown":"\xff"}', "invalid UTF-8 at byte 27"),
        (b'{"orderId":"\\ud800"}', "a text has an unpaired surrogate"),
        (b'\xef\xbb\xbf{"orderId":"o1"}', "not JSON: unexpected UTF-8 BOM (decode using utf-8-sig) at character 0"),
        (b'{"orderId":' + b"[" * 100_000, "not JSON that can be read: nested too deeply"),
    ],
)  # fmt: skip
def test_a_reject_says_what_is_wrong_and_where(value: bytes, expected: str) -> None:
    assert reason(ORDER, value) == expected


def test_of_a_field_that_stands_there_twice_the_last_counts() -> None:
    assert value_of(T.IntegerType(), b'{"a":1,"a":2}') == 2
    assert value_of(T.IntegerType(), b'{"a":"x","a":2}'.replace(b'"x"', b"1")) == 2


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (T.ByteType(), b"-128", -128),
        (T.ShortType(), b"32767", 32767),
        (T.LongType(), b"9223372036854775807", 2**63 - 1),
        (T.FloatType(), b"0.5", 0.5),
        (T.BooleanType(), b"false", False),
        (T.BinaryType(), b'"YWJj"', b"abc"),
        (T.DateType(), b'"2026-05-04"', dt.date(2026, 5, 4)),
        (T.TimestampNTZType(), b'"2026-05-04 12:00:00.5"', dt.datetime(2026, 5, 4, 12, 0, 0, 500_000)),
        (T.DecimalType(5, 2), b"123.45", Decimal("123.45")),
        (T.DecimalType(5, 2), b'"1.5"', Decimal("1.50")),
        (T.ArrayType(T.IntegerType()), b"[1,null,3]", [1, None, 3]),
        (T.MapType(T.StringType(), T.IntegerType()), b'{"x":1}', [("x", 1)]),
        (T.ArrayType(one_column(T.StringType())), b'[{"a":"x"},{}]', [{"a": "x"}, {"a": None}]),
    ],
)  # fmt: skip
def test_every_type_of_json_is_read(kind: T.DataType, value: bytes, expected: object) -> None:
    assert value_of(kind, b'{"a":%b}' % value) == expected


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (T.ByteType(), b"128", "a: 128 is out of range for tinyint"),
        (T.LongType(), b"9223372036854775808", "a: 9223372036854775808 is out of range for bigint"),
        (T.FloatType(), b"1e300", "a: 1e300 is out of range for float"),
        (T.BooleanType(), b'"true"', 'a: expected boolean, found string "true"'),
        (T.BinaryType(), b'"!!"', 'a: expected base64 text, found string "!!"'),
        (T.DateType(), b'"2026-02-30"', 'a: expected date, found string "2026-02-30"'),
        (T.TimestampNTZType(), b'"2026-05-04T12Z"', 'a: expected timestamp_ntz, found string "2026-05-04T12Z"'),
        (T.ArrayType(T.IntegerType()), b'[1,"x"]', 'a[1]: expected int, found string "x"'),
        (T.ArrayType(T.IntegerType(), containsNull=False), b"[null]", "a[0]: required, but null"),
        (T.ArrayType(T.IntegerType()), b"5", "a: expected array, found number 5"),
        (T.MapType(T.StringType(), T.IntegerType()), b'{"x":"y"}', 'a["x"]: expected int, found string "y"'),
        (one_column(T.IntegerType()), b'{"a":"x"}', 'a.a: expected int, found string "x"'),
        (T.StructType().add("b", T.StringType(), nullable=False), b"{}", "a.b: required, but missing"),
    ],
)  # fmt: skip
def test_every_type_says_what_does_not_fit_it(kind: T.DataType, value: bytes, expected: str) -> None:
    assert reason(one_column(kind), b'{"a":%b}' % value) == expected


@pytest.mark.parametrize("value", [b"1.555", b"12345678.5", b'"NaN"'])
def test_a_decimal_is_never_rounded_to_fit(value: bytes) -> None:
    assert "does not fit decimal(5,2)" in reason(one_column(T.DecimalType(5, 2)), b'{"a":%b}' % value)


def test_a_decimal_that_is_no_number_is_reported() -> None:
    assert (
        reason(one_column(T.DecimalType(5, 2)), b'{"a":"x"}') == 'a: expected decimal(5,2), found string "x"'
    )


def test_a_long_value_is_shortened_in_the_reason() -> None:
    found = reason(one_column(T.IntegerType()), b'{"a":"%b"}' % (b"x" * 1_000_000))
    assert len(found) < 120
    assert found.endswith("xxx…")


def test_a_record_of_a_megabyte_is_read() -> None:
    assert value_of(T.StringType(), b'{"a":"%b"}' % (b"x" * 1_000_000)) == "x" * 1_000_000


def test_a_null_value_is_a_reject_unless_it_is_allowed() -> None:
    assert decoded(JsonRowDecoder(ORDER), None) == [NULL_VALUE]
    assert decoded(JsonRowDecoder(ORDER, allows_null=True), None) == [(None, None, None, None)]


def test_a_comment_keeps_any_json_as_its_text() -> None:
    rows = JsonRowDecoder(one_column(T.StringType(), "json"))
    assert decoded(rows, b'{"a": {"x": [1, "y"]} }', b'{"a":null}', b"{}") == [
        ('{"x": [1, "y"]}',),
        (None,),
        (None,),
    ]


def test_a_comment_takes_milliseconds_as_a_timestamp() -> None:
    rows = JsonRowDecoder(one_column(T.TimestampType(), "epoch ms"))
    expected = (dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.UTC),)
    assert decoded(rows, b'{"a":1500}', b'{"a":"1970-01-01T00:00:01.5Z"}') == [expected, expected]
    assert decoded(rows, b'{"a":-1}', b'{"a":1.5}') == [
        "a: -1 is out of range for milliseconds since 1970",
        "a: expected timestamp, found number 1.5",
    ]


def test_columns_may_have_names_that_are_none_in_python() -> None:
    schema = T.StructType().add("class", T.StringType()).add("order-id", T.IntegerType(), nullable=False)
    assert decoded(JsonRowDecoder(schema), b'{"class":"x","order-id":1}') == [("x", 1)]


def test_a_type_that_json_cannot_hold_is_refused_at_once() -> None:
    with pytest.raises(DecoderError, match=r"column a\.b: .* cannot be read from JSON"):
        JsonRowDecoder(one_column(T.StructType().add("b", T.DayTimeIntervalType())))


def test_a_decoder_travels_to_workers() -> None:
    there = pickle.loads(pickle.dumps(JsonRowDecoder(ORDER)))
    assert decoded(there, b'{"orderId":"o1"}') == [("o1", None, None, None)]


EVENT = b'{"eventId":"e1","eventType":"%b","timestamp":1500,"correlationId":"c1","sender":"s","payload":%b}'


def test_an_envelope_has_its_payload_as_text_unless_it_has_a_schema() -> None:
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.UTC)
    value = EVENT % (b"OrderPlaced", b'{"n": 1}')
    assert decoded(JsonRowDecoder(envelope_schema(None)), value) == [
        ("e1", "OrderPlaced", moment, "c1", "s", '{"n": 1}')
    ]
    with_payload = envelope_schema(T.StructType().add("n", T.IntegerType()))
    assert decoded(JsonRowDecoder(with_payload), value)[0][5] == {"n": 1}


def test_an_envelope_without_its_fields_is_rejected_with_their_names() -> None:
    schema = envelope_schema(T.StructType().add("n", T.IntegerType(), nullable=False))
    assert reason(schema, b'{"eventType":"a","timestamp":1}') == "eventId: required, but missing"
    assert reason(schema, EVENT % (b"a", b"{}")) == "payload.n: required, but missing"


def test_events_of_other_types_are_skipped_with_any_payload() -> None:
    payload = T.StructType().add("n", T.IntegerType())
    rows = JsonRowDecoder(envelope_schema(payload), event_types=frozenset({"A"}))
    columns, errors, wanted = BatchDecoder(rows).decode(
        [EVENT % (b"B", b'{"n":"text"}'), EVENT % (b"A", b'{"n":1}'), b"{", EVENT % (b"A", b'{"n":"x"}')]
    )
    assert wanted == [1, 2, 3]
    assert columns[1].to_pylist() == ["A", None, None]
    assert errors[0] is None
    assert errors[1] is not None
    assert errors[2] == 'payload.n: expected int, found string "x"'
