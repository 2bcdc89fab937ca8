"""One pipeline file through both doors: `source_format` is all that differs."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.spark.pipeline.load import load
from penstock.spark.pipeline.run.runner import run
from tests.spark.sink.live import committed_messages
from tests.spark.source.topics import new_topic, produce
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

FILE = """
pipeline: {name}
bootstrap_servers: {bootstrap}
source_format: {source_format}
sources:
  orders:
    topic: {topic}
    decode: {{json: {{schema: "id STRING NOT NULL, amount DOUBLE"}}}}
    expect:
      - {{name: positive, rule: amount > 0, otherwise: dead-letter}}
steps:
  - {{name: big, sql: "SELECT id, amount FROM orders WHERE amount > 5"}}
outputs:
  history: {{from: orders, table: ./lake}}
  big: {{from: big, topic: {name}-big, key: id, delivery: {delivery}}}
"""


class Outcome:
    """What a pipeline made of a topic, in an order that does not depend on partitions."""

    def __init__(self, table: list[dict[str, Any]], big: list[Any], dead: list[Any]) -> None:
        self.table = sorted(table, key=repr)
        self.big = sorted(big, key=repr)
        self.dead = sorted(dead, key=repr)


def run_twice(
    spark: SparkSession, bootstrap: str, directory: Path, source_format: str, delivery: str
) -> Outcome:
    name = f"shop{uuid.uuid4().hex[:8]}"
    topic = new_topic(bootstrap, partitions=2)
    directory.mkdir()
    file = directory / "shop.yaml"
    file.write_text(
        FILE.format(
            name=name, bootstrap=bootstrap, source_format=source_format, topic=topic, delivery=delivery
        )
    )
    produce(bootstrap, topic, [_order(1), _order(2, 3), b"no json", _order(3, -1), None])
    _run(spark, file)
    produce(bootstrap, topic, [_order(4), b'{"amount": 1}'], partition=1)
    _run(spark, file)
    big = [(message.key(), message.value()) for message in committed_messages(bootstrap, f"{name}-big")]
    dead = [message.value() for message in committed_messages(bootstrap, f"{name}.dlq")]
    return Outcome(DeltaTable(str(directory / "lake")).to_pyarrow_table().to_pylist(), big, dead)


def _run(spark: SparkSession, file: Path) -> None:
    result = run(load(str(file)), once=True, spark=spark, quiet=True)
    assert result.given_up == {}


def _order(number: int, amount: float = 10.0) -> bytes:
    return json.dumps({"id": f"o{number}", "amount": amount}).encode()


def test_source_format_kafka_gives_the_same_tables_topics_and_dead_letters(
    spark: SparkSession, shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    bootstrap = shared_broker.bootstrap
    ours = run_twice(spark, bootstrap, tmp_path / "penstock", "penstock", "exactly-once")
    assert [row["id"] for row in ours.table] == ["o1", "o2", "o4"]
    assert [key for key, _ in ours.big] == [b"o1", b"o4"]
    assert len(ours.dead) == 4
    for delivery in ("exactly-once", "at-least-once"):
        theirs = run_twice(spark, bootstrap, tmp_path / delivery, "kafka", delivery)
        assert vars(theirs) == vars(ours)
