"""Outputs that encode, against a real broker, in the shared session."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.dead_letter_format import read_headers
from penstock.spark.encode.batch import EncoderError
from penstock.spark.functions import avro, encode, try_encode
from penstock.spark.pipeline.check import check_pipeline
from penstock.spark.pipeline.run.runner import run
from penstock.spark.pipeline.yaml.file import read_yaml
from tests.support.broker import BrokerProcess
from tests.support.registry import running_registry

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

TEXT = """\
pipeline: {name}
bootstrap_servers: {bootstrap}
sources:
  orders: {{topic: {name}, decode: {{json: "id STRING, amount BIGINT"}}}}
outputs:
  good:
    from: orders
    topic: {name}.out
    key: id
    encode_key: {{avro: {{registry_url: "{registry}", register: true}}}}
    encode: {{avro: {{registry_url: "{registry}", schema: order.avsc, register: true, otherwise: dead-letter}}}}
  strict:
    from: orders
    topic: {name}.strict
    encode: {{avro: {{schema: order.avsc, schema_id: 7}}}}
"""
SCHEMA = (
    '{"type": "record", "name": "shop.Order", "fields": '
    '[{"name": "id", "type": "string"}, {"name": "amount", "type": ["null", "int"]}]}'
)


def consumed(broker: BrokerProcess, topic: str) -> list[Any]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "g", "auto.offset.reset": "earliest",
         "enable.partition.eof": True}
    )  # fmt: skip
    consumer.subscribe([topic])
    found = []
    while (message := consumer.poll(30)) is not None and message.error() is None:
        found.append(message)
    consumer.close()
    return found


def test_rows_are_encoded_and_those_that_do_not_fit_are_dead_letters_or_stop_the_output(
    shared_broker: BrokerProcess, tmp_path: Path, spark: SparkSession
) -> None:
    name = f"encoding{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": shared_broker.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    for value in ('{"id": "a", "amount": 1}', '{"id": "b", "amount": 4294967296}', '{"id": "c"}'):
        producer.produce(name, value)
    assert producer.flush(30) == 0
    (tmp_path / "order.avsc").write_text(SCHEMA)
    with running_registry() as registry:
        text = TEXT.format(name=name, bootstrap=shared_broker.bootstrap, registry=registry.url)
        pipeline = read_yaml(text, str(tmp_path / "encoding.yaml"), {})
        report = check_pipeline(pipeline, spark, partitions={name: 1})
        assert [problem for problem in report.problems if not problem.is_warning] == []
        assert registry.subjects == {}
        result = run(pipeline, once=True, spark=spark, quiet=True)
        client = SchemaRegistryClient({"url": registry.url})
        read = AvroDeserializer(client)
        messages = consumed(shared_broker, f"{name}.out")
        values = [read(each.value(), SerializationContext(name, MessageField.VALUE)) for each in messages]
        keys = [read(each.key(), SerializationContext(name, MessageField.KEY)) for each in messages]
        assert sorted(registry.subjects) == [f"{name}.out-key", f"{name}.out-value"]
    assert values == [{"id": "a", "amount": 1}, {"id": "c", "amount": None}]
    assert keys == ["a", "c"]
    (letter,) = (read_headers(each.headers()) for each in consumed(shared_broker, f"{name}.dlq"))
    assert letter is not None
    assert letter.error == "cannot encode the value as avro: amount: 4294967296 is out of range for int"
    assert (letter.step, letter.origin.offset if letter.origin else None) == ("output.good", 1)
    (reason,) = result.given_up.values()
    assert "amount: 4294967296 is out of range for int; by the record at offset 1" in reason
    assert consumed(shared_broker, f"{name}.strict") == []


def test_column_functions_encode(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1), (None, 2)], "id STRING, n INT")
    row = F.struct("id", "n")
    bodies = frame.select(encode(frame, row, avro(framed=False)).alias("body")).collect()
    assert [bytes(each.body) for each in bodies] == [b"\x02\x02a\x02\x02", b"\x00\x02\x04"]
    (key,) = (
        frame.limit(1).select(try_encode(frame, "n", avro(framed=False), is_key=True).alias("key")).collect()
    )
    assert (bytes(key.key.value), key.key.error) == (b"\x02", None)
    with pytest.raises(EncoderError, match="the framing has the id of the schema"):
        encode(frame, row, avro())
