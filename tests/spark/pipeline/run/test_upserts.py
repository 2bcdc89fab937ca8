"""Pipelines that keep one row for each key, against a real broker, in the shared session."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from penstock.spark.lake.formats import existing_table
from penstock.spark.pipeline.load import load
from penstock.spark.pipeline.run.runner import run
from tests.spark.lake.support import read
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

TEXT = """\
pipeline: {name}
bootstrap_servers: {bootstrap}
sources:
  changes:
    topic: {name}
    decode: {{json: {{schema: "town STRING, points INT", allow_null: true}}}}
steps:
  - name: customers
    sql: SELECT cast(_record.key AS STRING) AS id, town, points, _record FROM changes
  - name: totals
    sql: SELECT town, sum(points) AS points FROM customers WHERE town IS NOT NULL GROUP BY town
outputs:
  latest: {{from: customers, table: latest, mode: upsert, key: [id]}}
  best:
    from: customers
    table: best
    format: iceberg
    mode: upsert
    key: [id]
    order_by: [points]
    delete_when: "false"
  totals: {{from: totals, table: totals, mode: update, key: [town]}}
  everything: {{from: totals, table: everything, mode: complete}}
"""


class Changes:
    """A topic of changes, and a pipeline that merges them into tables."""

    def __init__(self, broker: BrokerProcess, directory: Path, spark: SparkSession) -> None:
        self.name = f"changes{uuid.uuid4().hex[:8]}"
        self._broker, self._directory, self._spark = broker, directory, spark
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(self.name, 1, 1)])[self.name].result(30)
        self._file = directory / "pipeline.yaml"
        self._file.write_text(TEXT.format(name=self.name, bootstrap=broker.bootstrap))

    def produce(self, *records: tuple[str, str | None]) -> None:
        producer = Producer({"bootstrap.servers": self._broker.bootstrap})
        for key, value in records:
            producer.produce(self.name, key=key, value=value)
        assert producer.flush(30) == 0

    def run(self) -> None:
        result = run(load(str(self._file)), once=True, spark=self._spark, quiet=True)
        assert not result.given_up

    def table(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        rows = read(existing_table(str(self._directory / name)), *columns)
        return sorted(tuple(row.values()) for row in rows)


def test_tables_follow_the_newest_record_of_each_key(
    shared_broker: BrokerProcess, spark: SparkSession, tmp_path: Path
) -> None:
    changes = Changes(shared_broker, tmp_path, spark)
    changes.produce(
        ("ada", '{"town": "Bern", "points": 5}'),
        ("bob", '{"town": "Rome", "points": 1}'),
        ("ada", '{"town": "Rome", "points": 2}'),
    )
    changes.run()
    assert changes.table("latest", "id", "town", "_offset") == [("ada", "Rome", 2), ("bob", "Rome", 1)]
    changes.produce(("bob", None), ("cyd", '{"town": "Bern", "points": 3}'))
    changes.run()
    assert changes.table("latest", "id", "town") == [("ada", "Rome"), ("cyd", "Bern")]
    assert changes.table("best", "id", "points") == [("ada", 5), ("bob", 1), ("cyd", 3)]
    assert changes.table("totals") == [("Bern", 8), ("Rome", 3)]
    assert changes.table("everything") == [("Bern", 8), ("Rome", 3)]
