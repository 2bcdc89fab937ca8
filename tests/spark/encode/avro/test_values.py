"""Avro that we encode is read by our decoder, by fastavro and by Confluent's deserializer."""

import datetime as dt
import io
import json
import pickle
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given, settings

from penstock.spark.decode.avro.rows import AvroRowDecoder
from penstock.spark.decode.batch import BatchDecoder
from penstock.spark.decode.settings import AvroDecoder
from penstock.spark.encode.avro.schema import avro_name, infer_schema
from penstock.spark.encode.avro.values import value_encoder
from penstock.spark.encode.batch import EncoderError
from penstock.spark.encode.schemas import Place, Registration
from penstock.spark.encode.settings import AvroEncoder
from tests.spark.encode.round_trips import PLACE, ROWS, Case, body_of, encoded, plain
from tests.support.registry import RegistryStub, running_registry

ORDER = pa.struct([pa.field("id", pa.string(), nullable=False), pa.field("amount", pa.int64())])
GOOD = {"id": "a", "amount": 7}


@pytest.fixture
def registry() -> Iterator[RegistryStub]:
    with running_registry() as stub:
        yield stub


def schema_file(directory: Path, fields: list[Any], name: str = "shop.Order") -> str:
    text = json.dumps({"type": "record", "name": name, "fields": fields})
    (directory / "order.avsc").write_text(text)
    return "order.avsc"


def place(directory: Path, **given: Any) -> Place:
    return Place(topic="orders", directory=str(directory), **given)


def bare(directory: Path, fields: list[Any], kind: pa.DataType) -> Any:
    """An encoder without a registry, for a schema with these fields."""
    return value_encoder(
        AvroEncoder(framed=False, schema=schema_file(directory, fields)), kind, place(directory)
    )


# -- without a schema


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_any_row_is_read_back_with_the_inferred_schema(case: Case) -> None:
    kind, row = case
    schema = infer_schema(kind, "shop.orders")
    body = body_of(value_encoder(AvroEncoder(framed=False), kind, PLACE), kind, row)
    decoder = AvroRowDecoder(AvroDecoder(reader_schema=json.dumps(schema), framed=False))
    columns, errors, _ = BatchDecoder(decoder).decode([body])
    assert errors == [None]
    found = {name: column.to_pylist()[0] for name, column in zip(decoder.schema.names, columns, strict=True)}
    assert found == plain(kind, row)
    read = fastavro.schemaless_reader(io.BytesIO(body), fastavro.parse_schema(schema), None)
    assert set(read) == set(row)


def test_a_topic_names_the_record_and_nulls_are_unions() -> None:
    assert infer_schema(ORDER, "my-shop.orders.v2") == {
        "type": "record",
        "name": "my_shop.orders.v2",
        "fields": [
            {"name": "id", "type": "string"},
            {"name": "amount", "type": ["null", "long"], "default": None},
        ],
    }
    assert [avro_name(text) for text in ("2024.orders", "", "a..b")] == ["_2024.orders", "Row", "a.b"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (pa.struct([pa.field("a b", pa.int32())]), "column a b: not a name in Avro"),
        (
            pa.struct([pa.field("m", pa.map_(pa.int32(), pa.int32()))]),
            "column m: map<int32, int32.* has no type in Avro",
        ),
        (pa.struct([pa.field("d", pa.duration("us"))]), "column d: duration"),
    ],
)
def test_a_type_that_avro_does_not_have_is_refused(kind: pa.DataType, reason: str) -> None:
    with pytest.raises(EncoderError, match=reason):
        value_encoder(AvroEncoder(framed=False), kind, PLACE)


# -- with a schema


def test_values_are_written_as_the_schema_says(tmp_path: Path) -> None:
    fields: list[Any] = [
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "either", "type": ["null", "int", "string"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "fixed", "name": "P", "size": 4, "logicalType": "decimal",
                                   "precision": 5, "scale": 2}},
        {"name": "hash", "type": {"type": "fixed", "name": "H", "size": 2}},
        {"name": "small", "type": "int"},
        {"name": "added", "type": "long", "default": 9},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
    ]  # fmt: skip
    kind = pa.struct(
        [
            ("kind", pa.string()), ("either", pa.string()), ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")),
            ("price", pa.decimal128(5, 2)), ("hash", pa.binary()), ("small", pa.int64()), ("uuid", pa.string()),
        ]
    )  # fmt: skip
    row = {
        "kind": "B", "either": "x", "day": dt.date(1960, 2, 3), "at": dt.datetime(1960, 1, 1, 0, 0, 0, 1999, dt.UTC),
        "price": Decimal("-1.50"), "hash": b"ab", "small": -5, "uuid": "3c4db933-1424-45c5-9f0b-e84a3a04ef7f",
    }  # fmt: skip
    encoder = pickle.loads(pickle.dumps(bare(tmp_path, fields, kind)))
    body = body_of(encoder, kind, row)
    schema = json.loads((tmp_path / "order.avsc").read_text())
    found = fastavro.schemaless_reader(io.BytesIO(body), fastavro.parse_schema(schema), None)
    assert isinstance(found, dict)
    assert found.pop("at") == dt.datetime(1960, 1, 1, 0, 0, 0, 1000, dt.UTC)  # cut to milliseconds
    assert {**found, "uuid": str(found["uuid"])} == {
        **{name: value for name, value in row.items() if name != "at"},
        "added": 9,
    }


@pytest.mark.parametrize(
    ("field", "column", "value", "reason"),
    [
        ("int", pa.int64(), 1 << 31, "x: 2147483648 is out of range for int"),
        ("boolean", pa.bool_(), None, "x: null, but the schema does not allow null"),
        ("string", pa.string(), None, "x: null, but the schema does not allow null"),
        ({"type": "array", "items": "int"}, pa.list_(pa.int32()), [1, None], r"x[]: null, but the schema"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, pa.string(), "C", "x: 'C' is none of A, B"),
        ({"type": "fixed", "name": "F", "size": 2}, pa.binary(), b"abc", "x: b'abc' has 3 bytes, not 2"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, pa.decimal128(9, 2),
         Decimal("123.45"), "x: Decimal('123.45') is out of range for decimal(4,2)"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_has_a_reason_and_the_others_are_encoded(
    tmp_path: Path, field: Any, column: pa.DataType, value: Any, reason: str
) -> None:
    kind = pa.struct([pa.field("x", column)])
    encoder = bare(tmp_path, [{"name": "x", "type": field}], kind)
    refused, null = encoded(encoder, kind, {"x": value}, None)
    assert isinstance(refused, str)
    assert reason in refused
    assert null is None


@pytest.mark.parametrize(
    ("fields", "kind", "reason"),
    [
        ([{"name": "id", "type": "string"}], ORDER, "column amount is not in the schema"),
        ([*[{"name": each, "type": "string"} for each in ("id", "other")]], ORDER, "column other is missing"),
        ([{"name": "id", "type": "int"}, {"name": "amount", "type": ["null", "long"]}], ORDER,
         "column id: string does not fit int"),
        ([{"name": "id", "type": "string"}, {"name": "amount", "type": ["null", "string", "boolean"]}], ORDER,
         "column amount: int64 does not fit null or string or boolean"),
        ([{"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}],
         pa.struct([("at", pa.timestamp("us"))]), "a timestamp without time zone, but .* cast it to TIMESTAMP"),
        ([{"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1}}],
         pa.struct([("d", pa.decimal128(9, 2))]), "more decimal places"),
        ([{"name": "id", "type": "nothing"}], ORDER, "there is no type"),
    ],
)  # fmt: skip
def test_columns_that_never_fit_are_refused_at_once(
    tmp_path: Path, fields: list[Any], kind: pa.DataType, reason: str
) -> None:
    with pytest.raises(EncoderError, match=reason):
        bare(tmp_path, fields, kind)


def test_a_schema_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.avsc").write_text("{")
    for name, reason in (("x.avsc", "x.avsc is not an Avro schema"), ("y.avsc", "cannot read y.avsc")):
        with pytest.raises(EncoderError, match=reason):
            value_encoder(AvroEncoder(framed=False, schema=name), ORDER, place(tmp_path))


# -- with a registry


def read_by_confluent(url: str, body: bytes) -> Any:
    deserializer = AvroDeserializer(SchemaRegistryClient({"url": url}))
    return deserializer(body, SerializationContext("orders", MessageField.VALUE))


def test_a_registered_schema_is_found_by_confluents_deserializer(registry: RegistryStub) -> None:
    encoder = value_encoder(AvroEncoder(registry_url=registry.url, register=True), ORDER, PLACE)
    assert list(registry.subjects) == ["shop.orders-value"]
    assert read_by_confluent(registry.url, body_of(encoder, ORDER, GOOD)) == GOOD


@pytest.mark.parametrize(
    ("given", "is_key", "subject"),
    [
        ({}, True, "orders-key"),
        ({"subject_strategy": "RecordName"}, False, "shop.Order"),
        ({"subject_strategy": "TopicRecordName"}, False, "orders-shop.Order"),
        ({"subject": "mine"}, False, "mine"),
    ],
)
def test_the_subject_follows_from_the_strategy(
    registry: RegistryStub, tmp_path: Path, given: dict[str, Any], is_key: bool, subject: str
) -> None:
    fields = [{"name": "id", "type": "string"}, {"name": "amount", "type": ["null", "long"]}]
    chosen = AvroEncoder(
        registry_url=registry.url, register=True, schema=schema_file(tmp_path, fields), **given
    )
    encoder = value_encoder(chosen, ORDER, place(tmp_path, is_key=is_key))
    assert list(registry.subjects) == [subject]
    assert body_of(encoder, ORDER, GOOD)[:5] == b"\x00\x00\x00\x00\x01"


def test_without_registering_the_newest_schema_of_the_subject_is_used(registry: RegistryStub) -> None:
    fields = [{"name": "id", "type": "string"}, {"name": "amount", "type": ["null", "long"]}]
    schema = {"schema": json.dumps({"type": "record", "name": "Order", "fields": fields})}
    registry.add_version("shop.orders-value", schema, 41)
    encoder = value_encoder(AvroEncoder(registry_url=registry.url), ORDER, PLACE)
    assert body_of(encoder, ORDER, GOOD)[:5] == b"\x00\x00\x00\x00\x29"
    assert read_by_confluent(registry.url, body_of(encoder, ORDER, GOOD)) == GOOD


def test_a_registry_that_refuses_lacks_or_does_not_answer_is_an_error(
    registry: RegistryStub, tmp_path: Path
) -> None:
    known = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
    registry.add_version("orders-value", {"schema": json.dumps(known)})
    fields = [{"name": "id", "type": "string"}, {"name": "amount", "type": ["null", "long"]}]
    file = schema_file(tmp_path, fields)
    cases = [
        (AvroEncoder(registry_url=registry.url, register=True, schema=file), Registration.RUN, "no default"),
        (
            AvroEncoder(registry_url=registry.url, register=True, schema=file),
            Registration.CHECK,
            "as incompatible",
        ),
        (
            AvroEncoder(registry_url=registry.url, schema=file),
            Registration.CHECK,
            "does not have this schema",
        ),
        (AvroEncoder(registry_url=registry.url, subject="none"), Registration.CHECK, "has no subject none"),
        (AvroEncoder(registry_url="http://127.0.0.1:1", schema=file), Registration.CHECK, "does not respond"),
    ]
    for chosen, registration, reason in cases:
        with pytest.raises(EncoderError, match=reason):
            value_encoder(chosen, ORDER, place(tmp_path, registration=registration))
    assert registry.subjects == {"orders-value": [1]}


def test_check_registers_nothing_and_offline_asks_nothing(registry: RegistryStub) -> None:
    chosen = AvroEncoder(registry_url=registry.url, register=True)
    value_encoder(chosen, ORDER, Place(topic="new", registration=Registration.CHECK))
    assert registry.subjects == {}
    before = list(registry.requests)
    offline = Place(topic="new", registration=Registration.OFFLINE)
    assert value_encoder(chosen, ORDER, offline) is not None
    assert value_encoder(AvroEncoder(registry_url=registry.url), ORDER, offline) is None
    assert registry.requests == before
