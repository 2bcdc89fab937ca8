"""JSON that we encode is read by Confluent's deserializer, and fits the schema that is given or inferred."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema_rs
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given, settings
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.batch import BatchDecoder
from penstock.spark.decode.framing import frame_header
from penstock.spark.decode.json.rows import JsonRowDecoder
from penstock.spark.encode.batch import EncoderError
from penstock.spark.encode.json_schema.schema import infer_schema
from penstock.spark.encode.json_schema.values import value_encoder
from penstock.spark.encode.schemas import Place
from penstock.spark.encode.settings import JsonSchemaEncoder
from tests.spark.encode.round_trips import PLACE, ROWS, Case, body_of, encoded
from tests.support.registry import RegistryStub, running_registry

ORDER = pa.struct([pa.field("id", pa.string()), pa.field("amount", pa.float64())])


@pytest.fixture
def registry() -> Iterator[RegistryStub]:
    with running_registry() as stub:
        yield stub


def bare(directory: Path, schema: Any, kind: pa.DataType = ORDER) -> Any:
    (directory / "order.json").write_text(json.dumps(schema))
    chosen = JsonSchemaEncoder(framed=False, schema="order.json")
    return value_encoder(chosen, kind, Place(topic="orders", directory=str(directory)))


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_any_row_fits_its_inferred_schema(case: Case) -> None:
    kind, row = case
    body = body_of(value_encoder(JsonSchemaEncoder(framed=False), kind, PLACE), kind, row)
    schema: Any = infer_schema(kind, "orders")
    jsonschema_rs.validator_for(schema).validate(json.loads(body))


def test_values_are_written_as_our_decoder_reads_them() -> None:
    kind = pa.struct(
        [("at", pa.timestamp("us", "UTC")), ("day", pa.date32()), ("data", pa.binary()),
         ("price", pa.decimal128(20, 2)), ("none", pa.string())]
    )  # fmt: skip
    row = {
        "at": dt.datetime(2026, 5, 4, 12, tzinfo=dt.UTC), "day": dt.date(2026, 5, 4), "data": b"\x00\xff",
        "price": Decimal("123456789012345678.10"), "none": None,
    }  # fmt: skip
    body = body_of(value_encoder(JsonSchemaEncoder(framed=False), kind, PLACE), kind, row)
    columns = T.StructType(
        [T.StructField("at", T.TimestampType()), T.StructField("day", T.DateType()),
         T.StructField("data", T.BinaryType()), T.StructField("price", T.DecimalType(20, 2)),
         T.StructField("none", T.StringType())]
    )  # fmt: skip
    decoder = BatchDecoder(JsonRowDecoder(columns, framed=True))
    decoded, errors, _ = decoder.decode([frame_header(7) + body])
    assert errors == [None]
    assert [column.to_pylist()[0] for column in decoded] == list(row.values())
    assert body == (
        b'{"at":"2026-05-04T12:00:00Z","day":"2026-05-04","data":"AP8=","price":123456789012345678.10}'
    )


def test_a_registered_schema_is_found_by_confluents_deserializer(registry: RegistryStub) -> None:
    encoder = value_encoder(JsonSchemaEncoder(registry_url=registry.url, register=True), ORDER, PLACE)
    body = body_of(encoder, ORDER, {"id": "a", "amount": 1.5})
    client = SchemaRegistryClient({"url": registry.url})
    read = JSONDeserializer(None, schema_registry_client=client)
    assert read(body, SerializationContext("orders", MessageField.VALUE)) == {"id": "a", "amount": 1.5}
    assert registry.schemas[1]["schemaType"] == "JSON"
    again = value_encoder(JsonSchemaEncoder(registry_url=registry.url), ORDER, PLACE)
    assert body_of(again, ORDER, {"id": "b", "amount": None}) == b'\x00\x00\x00\x00\x01{"id":"b"}'


SCHEMA: Any = {
    "type": "object",
    "required": ["id", "amount"],
    "additionalProperties": False,
    "properties": {
        "id": {"$ref": "#/definitions/id"},
        "amount": {"type": ["number", "null"], "minimum": 0},
    },
    "definitions": {"id": {"type": "string", "maxLength": 3}},
}


def test_values_are_validated_with_the_schema_that_is_given(tmp_path: Path) -> None:
    found = encoded(
        bare(tmp_path, SCHEMA),
        ORDER,
        {"id": "abc", "amount": None},
        {"id": "abcd", "amount": 1.0},
        {"id": "a", "amount": -1.0},
        {"id": None, "amount": 1.0},
        {"id": "a", "amount": float("nan")},
    )
    assert found[0] == b'{"id":"abc","amount":null}'
    assert [str(each).partition(":")[0] for each in found[1:]] == ["id", "amount", "id", "amount"]
    assert found[4] == "amount: nan is no number in JSON"


@pytest.mark.parametrize(
    ("schema", "kind", "reason"),
    [
        (SCHEMA, pa.struct([("id", pa.string())]), "column amount is missing: the schema requires it"),
        (SCHEMA, pa.struct([("id", pa.string()), ("amount", pa.float64()), ("x", pa.int32())]),
         "column x is not in the schema"),
        (SCHEMA, pa.struct([("id", pa.int32()), ("amount", pa.float64())]), "column id: int32 is written as integer"),
        ({"type": "array"}, ORDER, "the value: struct.* is written as object"),
        ({"type": "nothing"}, ORDER, "is written as object, but the schema has nothing"),
        ({"$ref": "http://elsewhere/x.json"}, ORDER, "not a JSON Schema"),
    ],
)  # fmt: skip
def test_columns_that_never_fit_are_refused_at_once(
    tmp_path: Path, schema: Any, kind: pa.DataType, reason: str
) -> None:
    with pytest.raises(EncoderError, match=reason):
        bare(tmp_path, schema, kind)
