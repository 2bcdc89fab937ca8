"""Avro bodies as rows, and the reasons of those that are none."""

import datetime as dt
import io
import json
import pickle
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.avro.rows import AvroRowDecoder
from penstock.spark.decode.batch import NULL_VALUE, BatchDecoder, DecoderError
from penstock.spark.decode.schema_registry import RegistryUnreachable
from penstock.spark.decode.settings import AvroDecoder
from tests.support.registry import running_registry

FIELDS_1 = [{"name": "id", "type": "string"}, {"name": "amount", "type": ["null", "double"], "default": None}]
FIELDS_2 = [*FIELDS_1, {"name": "count", "type": "int", "default": 7}]


def record(fields: list[Any], name: str = "shop.Order") -> str:
    return json.dumps({"type": "record", "name": name, "fields": fields})


def body(schema: str, row: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), row)
    return out.getvalue()


def framed(schema_id: int, data: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + data


SCHEMAS = {3: record(FIELDS_1), 5: record(FIELDS_2)}


def avro_rows(**settings: Any) -> AvroRowDecoder:
    return AvroRowDecoder(AvroDecoder(**settings))


def decoded(rows: AvroRowDecoder, *values: bytes | None) -> list[Any]:
    columns, errors, _ = BatchDecoder(rows).decode(values)
    lists = [column.to_pylist() for column in columns]
    return [
        error if error is not None else tuple(each[at] for each in lists) for at, error in enumerate(errors)
    ]


def test_a_body_is_read_with_its_own_schema_and_has_the_columns_of_the_newest() -> None:
    rows = avro_rows(reader_schema=None, schemas=SCHEMAS)
    old = framed(3, body(SCHEMAS[3], {"id": "a", "amount": 1.5}))
    new = framed(5, body(SCHEMAS[5], {"id": "b", "amount": None, "count": 1}))
    assert rows.schema.names == ["id", "amount", "count"]
    assert decoded(pickle.loads(pickle.dumps(rows)), old, new) == [("a", 1.5, 7), ("b", None, 1)]


def test_a_reader_schema_says_which_columns_there_are() -> None:
    rows = avro_rows(reader_schema=record([{"name": "id", "type": "string"}]), schemas=SCHEMAS)
    assert decoded(rows, framed(3, body(SCHEMAS[3], {"id": "a", "amount": 1.5}))) == [("a",)]


def test_without_framing_the_value_is_the_body() -> None:
    rows = avro_rows(reader_schema=SCHEMAS[3], schemas={}, framed=False)
    assert decoded(rows, body(SCHEMAS[3], {"id": "a", "amount": 1.5})) == [("a", 1.5)]


GOOD = body(SCHEMAS[3], {"id": "abc", "amount": 1.5})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, NULL_VALUE),
        (b"", "empty value"),
        (b'{"id":"a"}', "unknown magic byte 123: expected 0, as Confluent's serializers write it"),
        (framed(4, GOOD), "unknown schema id 4"),
        (framed(3, GOOD[:6]), "truncated: the Avro body of 6 bytes ends before schema 3 does"),
        (framed(3, b""), "truncated: the Avro body of 0 bytes ends before schema 3 does"),
        (framed(3, GOOD + b"xy"), "2 bytes after the end of the Avro body of schema 3"),
        (framed(3, b"\x02\xff\x00"), "not Avro of schema 3: a string is not UTF-8"),
    ],
)
def test_a_reject_says_why(value: bytes | None, expected: str) -> None:
    assert decoded(avro_rows(reader_schema=None, schemas=SCHEMAS), value) == [expected]


def test_a_schema_that_does_not_resolve_is_reported() -> None:
    rows = avro_rows(reader_schema=record([{"name": "id", "type": "int"}]), schemas=SCHEMAS)
    (found,) = decoded(rows, framed(3, GOOD))
    assert "schema 3 does not fit the columns" in found


def test_a_bad_branch_of_a_union_is_a_reject() -> None:
    (found,) = decoded(avro_rows(reader_schema=None, schemas=SCHEMAS), framed(3, b"\x02a\x08"))
    assert found.startswith("not Avro of schema 3")


def test_types_become_those_of_spark() -> None:
    schema = record(
        [
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            },
            {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
            {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "other", "type": "Kind"},
            {"name": "wide", "type": ["int", "long"]},
            {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
            {"name": "list", "type": {"type": "array", "items": ["null", "string"]}},
            {"name": "map", "type": {"type": "map", "values": "long"}},
            {"name": "inner", "type": {"type": "record", "name": "In", "fields": FIELDS_1}},
        ]
    )
    row = {
        "at": dt.datetime(2026, 5, 4, tzinfo=dt.UTC),
        "day": dt.date(2026, 5, 4),
        "price": Decimal("1.50"),
        "uuid": "3c4db933-1424-45c5-9f0b-e84a3a04ef7f",
        "time": dt.time(0, 0, 1),
        "kind": "B",
        "other": "A",
        "wide": 1 << 40,
        "hash": b"ab",
        "list": ["x", None],
        "map": {"k": 1},
        "inner": {"id": "i", "amount": None},
    }
    rows = avro_rows(reader_schema=schema, schemas={}, framed=False)
    assert decoded(rows, body(schema, row)) == [tuple({**row, "time": 1000, "map": [("k", 1)]}.values())]
    assert rows.schema["wide"].dataType == T.LongType()
    assert rows.schema["price"].dataType == T.DecimalType(5, 2)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([{"name": "u", "type": ["string", "long"]}], "u: a union of string and long has no column type"),
        ([{"name": "n", "type": "null"}], "n: null alone has no column type"),
        ([{"name": "r", "type": ["null", "shop.Order"]}], "shop.Order is recursive"),
        ([{"name": "a", "type": {"type": "array", "items": "null"}}], "an array of zero-byte items"),
        ([{"name": "x", "type": "nothing"}], "there is no type"),
    ],
)
def test_a_schema_that_has_no_columns_is_refused_at_once(fields: list[Any], expected: str) -> None:
    with pytest.raises(DecoderError, match=expected):
        avro_rows(reader_schema=record(fields), schemas={})


def test_a_decoder_without_any_schema_is_refused() -> None:
    with pytest.raises(DecoderError, match="set a schema file"):
        avro_rows(reader_schema=None, schemas={}, registry_url="http://127.0.0.1:1")
    with pytest.raises(DecoderError, match="schema 3: not an Avro schema"):
        avro_rows(reader_schema=SCHEMAS[5], schemas={3: "no JSON"})


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """The address, which requests must give with user `u` and password `p@`."""
    inner = [{"name": "id", "type": "string"}, {"name": "inner", "type": "shop.Inner"}]
    with running_registry("/base") as stub:
        stub.authorization = "Basic dTpwQA=="
        stub.schemas[11] = {"schema": SCHEMAS[3]}
        stub.schemas[12] = {
            "schema": record(inner),
            "references": [{"name": "shop.Inner", "subject": "inner", "version": 2}],
        }
        stub.schemas[13] = {"schema": record([{"name": "a", "type": {"type": "array", "items": "null"}}])}
        stub.add_version("inner", {"schema": record(FIELDS_2, "shop.Inner")})
        stub.add_version("inner", {"schema": record(FIELDS_1, "shop.Inner")})
        yield f"{stub.url.removeprefix('http://')}/"


def test_an_unknown_id_is_asked_for_at_the_registry(registry: str) -> None:
    rows = avro_rows(reader_schema=SCHEMAS[3], schemas={}, registry_url=f"http://u:p%40@{registry}")
    inner = {"id": "x", "amount": None}
    with_reference = body(
        record(
            [
                {"name": "id", "type": "string"},
                {"name": "inner", "type": json.loads(record(FIELDS_1, "shop.Inner"))},
            ]
        ),
        {"id": "b", "inner": inner},
    )
    assert decoded(
        rows, framed(11, GOOD), framed(12, with_reference), framed(99, GOOD), framed(13, GOOD)
    ) == [
        ("abc", 1.5),
        ("b", None),
        "unknown schema id 99",
        "schema 13 cannot be used: an array of zero-byte items is not supported: leave it out in a `reader_schema`",
    ]


def test_a_registry_that_does_not_answer_stops_the_task_and_blames_no_record(registry: str) -> None:
    for url in (f"http://{registry}", "http://127.0.0.1:1", "file:///etc"):
        rows = avro_rows(reader_schema=SCHEMAS[3], schemas={}, registry_url=url)
        with pytest.raises(RegistryUnreachable):
            decoded(rows, framed(11, GOOD))
