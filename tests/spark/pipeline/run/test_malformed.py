"""What no decoder can read, sent to a pipeline that runs: it becomes a dead letter, and the stream goes on."""

import json
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.decode.settings import AvroDecoder
from penstock.spark.pipeline.core.model import Output, TopicSource
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.run.runner import run
from tests.spark.decode.avro.test_rows import SCHEMAS, body, framed
from tests.spark.pipeline.run.test_runner import Shop, ids, in_background
from tests.spark.source.topics import produce
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

MEGABYTE = 1_048_000  # about the largest that a topic takes
AVRO = SCHEMAS[3]

BAD_JSON: dict[bytes | None, str] = {
    b'{"id": "cut': "not JSON: unterminated string starting at at character 7",
    b'{"id": "a", "amount": "much"}': 'amount: expected double, found string "much"',
    b'["a", 1]': "expected an object, found an array",
    b"!" * MEGABYTE: "not JSON: expecting value at character 0",
    None: "null value",
}
BAD_AVRO: dict[bytes | None, str] = {
    framed(3, body(AVRO, {"id": "abc", "amount": 1.5})[:6]): (
        "truncated: the Avro body of 6 bytes ends before schema 3 does"
    ),
    b"\x01" + framed(3, b"")[1:]: "unknown magic byte 1: expected 0, as Confluent's serializers write it",
    framed(9, b"abc"): "unknown schema id 9",
}


def good_json(name: str) -> bytes:
    return json.dumps({"id": name, "amount": 1.5}).encode()


def good_avro(name: str) -> bytes:
    return framed(3, body(AVRO, {"id": name, "amount": 1.5}))


def test_malformed_records_are_dead_letters_with_the_reason_and_nothing_else_is_lost(
    shared_broker: BrokerProcess, tmp_path: Path, spark: SparkSession
) -> None:
    shop = Shop(shared_broker, tmp_path, spark)
    (tmp_path / "order.avsc").write_text(AVRO)
    avro = TopicSource(
        name="avro", topics=(shop.topic("avro"),), decoder=AvroDecoder(schemas={3: "order.avsc"})
    )
    pipeline = shop.pipeline(
        Output(name="from_json", input="json", target=TableTarget(path="lake/json")),
        Output(name="from_avro", input="avro", target=TableTarget(path="lake/avro")),
        sources=(shop.source("json"), avro),
    )
    for name in ("json", "avro"):
        shop.create(name, partitions=1)

    def send(topic: str, *values: bytes | None) -> None:
        produce(shop.bootstrap, shop.topic(topic), values, message_max_bytes=2 * MEGABYTE)

    stopping = threading.Event()
    thread, results = in_background(
        lambda: run(pipeline, spark=spark, display=shop.display, stopping=stopping)
    )
    large = "x" * (MEGABYTE - 100)
    try:
        send("json", good_json("first"), *BAD_JSON, good_json(large))
        send("avro", good_avro("first"), *BAD_AVRO)
        shop.display.await_rows(f"{shop.name}.from_json", 2 + len(BAD_JSON))
        shop.display.await_rows(f"{shop.name}.from_avro", 1 + len(BAD_AVRO))
        send("json", good_json("last"))
        send("avro", good_avro("last"))
        for query, rows in {
            "from_json": 3 + len(BAD_JSON),
            "dead-letters.json": 3 + len(BAD_JSON),
            "from_avro": 2 + len(BAD_AVRO),
            "dead-letters.avro": 2 + len(BAD_AVRO),
        }.items():
            shop.display.await_rows(f"{shop.name}.{query}", rows)
    finally:
        stopping.set()
        thread.join(120)
    assert results[0].given_up == {}
    assert ids(shop.table("lake/json")) == ["first", "last", large]
    assert ids(shop.table("lake/avro")) == ["first", "last"]
    reported = {str(value): reason for value, reason in [*BAD_JSON.items(), *BAD_AVRO.items()]}
    assert {value: letter.error for value, letter in shop.dead_letters().items()} == reported
    assert len(shop.messages(f"{shop.name}.dlq")) == len(reported)
