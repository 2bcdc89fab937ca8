"""Types of Connect and Debezium as columns."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.decode.debezium.avro import connect_schema
from penstock.spark.decode.debezium.types import column_of, converted, unbase64

TIME, CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
NEW_YEAR = dt.datetime(2024, 1, 1)
SECONDS = 1_704_067_200


@pytest.mark.parametrize(
    ("kind", "name", "value", "expected_kind", "expected"),
    [
        ("int32", f"{TIME}Date", 19723, pa.date32(), dt.date(2024, 1, 1)),
        ("int32", f"{TIME}Time", 1_500, pa.string(), "00:00:01.500000"),
        ("int64", f"{TIME}MicroTime", -3_020_399_000_000, pa.string(), "-838:59:59"),
        ("int64", f"{TIME}NanoTime", 1_000_000_000, pa.string(), "00:00:01"),
        ("int64", f"{TIME}Timestamp", SECONDS * 1_000, pa.timestamp("us"), NEW_YEAR),
        ("int64", f"{TIME}MicroTimestamp", SECONDS * 1_000_000, pa.timestamp("us"), NEW_YEAR),
        ("int64", f"{TIME}NanoTimestamp", SECONDS * 1_000_000_000 + 999, pa.timestamp("us"), NEW_YEAR),
        ("string", f"{TIME}ZonedTimestamp", "2024-01-01T02:00:00.000000001+02:00", pa.timestamp("us", "UTC"),
         NEW_YEAR.replace(tzinfo=dt.UTC)),
        ("string", f"{TIME}ZonedTimestamp", "2024-01-01T00:00:00Z", pa.timestamp("us", "UTC"),
         NEW_YEAR.replace(tzinfo=dt.UTC)),
        ("string", f"{TIME}IsoTimestamp", "2024-01-01T00:00:00Z", pa.timestamp("us"), NEW_YEAR),
        ("string", f"{TIME}IsoDate", "2024-01-01Z", pa.date32(), dt.date(2024, 1, 1)),
        ("string", f"{TIME}ZonedTime", "10:00:00Z", pa.string(), "10:00:00Z"),
        ("int32", f"{TIME}Year", 2024, pa.int32(), 2024),
        ("int64", f"{TIME}MicroDuration", 5, pa.int64(), 5),
        ("int32", f"{CONNECT}Date", 19723, pa.date32(), dt.date(2024, 1, 1)),
        ("int32", f"{CONNECT}Time", 1_000, pa.string(), "00:00:01"),
        ("int64", f"{CONNECT}Timestamp", SECONDS * 1_000, pa.timestamp("us", "UTC"), NEW_YEAR.replace(tzinfo=dt.UTC)),
        ("string", "io.debezium.data.Enum", "a", pa.string(), "a"),
        ("string", "io.debezium.data.Uuid", "u", pa.string(), "u"),
        ("bytes", "io.debezium.data.Bits", "qg==", pa.binary(), b"\xaa"),
        ("float", None, 1.5, pa.float32(), 1.5),
        ("int8", None, 1, pa.int8(), 1),
    ],
)  # fmt: skip
def test_a_type_becomes_a_column(
    kind: str, name: str | None, value: Any, expected_kind: pa.DataType, expected: Any
) -> None:
    column = column_of({"type": kind, "name": name}, unbase64)
    found = converted(value, column.convert)
    assert (column.kind, found) == (expected_kind, expected)
    made: Any = pa.array([found], column.kind)
    assert made.to_pylist() == [expected]


@pytest.mark.parametrize(
    ("parameters", "kind", "expected"),
    [
        ({"scale": "3", "connect.decimal.precision": "12"}, pa.decimal128(12, 3), Decimal("1234567.891")),
        ({"scale": "0"}, pa.decimal128(38, 0), Decimal(1234567891)),
        ({"scale": "-2"}, pa.string(), "1.234567891E+11"),
    ],
)
def test_a_decimal_keeps_its_scale(parameters: dict[str, str], kind: pa.DataType, expected: Any) -> None:
    schema = {"type": "bytes", "name": f"{CONNECT}Decimal", "parameters": parameters}
    column = column_of(schema, unbase64)
    assert (column.kind, converted("SZYC0w==", column.convert)) == (kind, expected)


def test_a_decimal_of_38_digits_is_exact() -> None:
    number = 10**38 - 1
    schema = {"type": "bytes", "name": f"{CONNECT}Decimal", "parameters": {"scale": "10"}}
    found = converted((-number).to_bytes(17, "big", signed=True), column_of(schema).convert)
    assert found == Decimal("-9999999999999999999999999999.9999999999")


def test_a_number_of_any_scale_is_text_and_maps_and_structs_are_converted_inside() -> None:
    variable = {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}
    assert converted({"scale": 5, "value": "BMsv"}, column_of(variable, unbase64).convert) == "3.14159"
    inner = {"type": "struct", "fields": [{"field": "d", "type": "int32", "name": f"{TIME}Date"}]}
    nested = {"type": "map", "keys": {"type": "string"}, "values": {"type": "array", "items": inner}}
    column = column_of(nested)
    assert converted({"k": [{"d": 0}, None]}, column.convert) == [("k", [{"d": dt.date(1970, 1, 1)}, None])]


@pytest.mark.parametrize(
    ("avro", "expected"),
    [
        ("long", {"type": "int64"}),
        (["null", {"type": "int", "connect.type": "int16"}], {"type": "int16", "parameters": {}}),
        ({"type": "int", "logicalType": "date"}, {"type": "int32", "name": f"{CONNECT}Date", "parameters": {}}),
        ({"type": "long", "logicalType": "timestamp-micros"},
         {"type": "int64", "name": "timestamp-micros", "parameters": {}}),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
         {"type": "bytes", "name": f"{CONNECT}Decimal", "parameters": {"scale": 2, "connect.decimal.precision": 5}}),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, {"type": "string", "parameters": {}}),
    ],
)  # fmt: skip
def test_an_avro_type_is_read_as_one_of_connect(avro: Any, expected: dict[str, Any]) -> None:
    assert connect_schema(avro, {}) == expected
