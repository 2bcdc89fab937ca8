"""Encoders and decoders with Apicurio's registry, through its Confluent interface."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.spark.decode.avro.rows import AvroRowDecoder
from penstock.spark.decode.batch import BatchDecoder
from penstock.spark.decode.settings import AvroDecoder
from penstock.spark.encode.avro.values import value_encoder as avro
from penstock.spark.encode.batch import EncoderError
from penstock.spark.encode.json_schema.values import value_encoder as json_schema
from penstock.spark.encode.protobuf import value_encoder as protobuf
from penstock.spark.encode.schemas import Place, Registration
from penstock.spark.encode.settings import AvroEncoder, JsonSchemaEncoder, ProtobufEncoder
from tests.interop.debezium.processes import running_registry
from tests.spark.decode.test_protobuf import DESCRIPTORS
from tests.spark.encode.round_trips import body_of

ORDER = pa.struct([pa.field("id", pa.string(), nullable=False), pa.field("amount", pa.int64())])
ROW = {"id": "a", "amount": 7}
VALUE = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry")) as url:
        yield url


def test_avro_is_registered_looked_up_and_read_by_others(registry: str) -> None:
    place = Place(topic="avro")
    body = body_of(avro(AvroEncoder(registry_url=registry, register=True), ORDER, place), ORDER, ROW)
    assert body_of(avro(AvroEncoder(registry_url=registry), ORDER, place), ORDER, ROW) == body
    assert AvroDeserializer(SchemaRegistryClient({"url": registry}))(body, VALUE) == ROW
    schema = json.dumps({"type": "record", "name": "avro", "fields": [{"name": "id", "type": "string"}]})
    decoder = AvroRowDecoder(AvroDecoder(reader_schema=schema, registry_url=registry))
    (ids,), errors, _ = BatchDecoder(decoder).decode([body])
    assert (ids.to_pylist(), errors) == (["a"], [None])


def test_a_subject_that_is_missing_or_has_another_schema_is_an_error(registry: str) -> None:
    avro(AvroEncoder(registry_url=registry, register=True), ORDER, Place(topic="other"))
    wider = pa.struct([*ORDER, pa.field("more", pa.int32())])
    with pytest.raises(EncoderError, match="has no subject none-value"):
        avro(AvroEncoder(registry_url=registry), ORDER, Place(topic="none"))
    with pytest.raises(EncoderError, match="column more is not in the schema"):
        avro(AvroEncoder(registry_url=registry), wider, Place(topic="other", registration=Registration.CHECK))


def test_json_schema_is_registered_and_read_by_others(registry: str) -> None:
    chosen = JsonSchemaEncoder(registry_url=registry, register=True)
    body = body_of(json_schema(chosen, ORDER, Place(topic="json")), ORDER, ROW)
    read: Any = JSONDeserializer(None, schema_registry_client=SchemaRegistryClient({"url": registry}))
    assert read(body, VALUE) == ROW


def test_protobuf_is_registered(registry: str, tmp_path: Path) -> None:
    (tmp_path / "shop.desc").write_bytes(DESCRIPTORS)
    kind = pa.struct([("x", pa.int32())])
    chosen = ProtobufEncoder(
        registry_url=registry, register=True, descriptors="shop.desc", message="shop.Other"
    )
    body = body_of(protobuf(chosen, kind, Place(topic="proto", directory=str(tmp_path))), kind, {"x": 1})
    assert (body[:1], body[5:]) == (b"\x00", b"\x02\x02\x08\x01")
