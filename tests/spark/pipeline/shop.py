"""A small pipeline file over a topic of its own, for tests of the commands."""

import json
import uuid
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable

from tests.support.broker import BrokerProcess

TEXT = """\
pipeline: shop
bootstrap_servers: 127.0.0.1:9
trigger: 100 ms
spark: {{spark.sql.shuffle.partitions: 1, spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}}
sources:
  orders: {{topic: {topic}, decode: {{json: 'id STRING NOT NULL, amount DOUBLE'}}}}
outputs:
  table: {{from: orders, table: lake}}
"""


def write(directory: Path) -> Path:
    path = directory / "shop.yaml"
    path.write_text(TEXT.format(topic=f"orders-{uuid.uuid4().hex[:8]}"))
    return path


def topic_of(file: Path) -> str:
    return file.read_text().partition("topic: ")[2].partition(",")[0]


def create(broker: BrokerProcess, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    kept = {"retention.ms": "-1"}  # records of 1970 would have expired
    admin.create_topics([NewTopic(topic, 2, 1, config=kept)])[topic].result(30)


def produce(broker: BrokerProcess, topic: str, times_ms: list[int]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for at_ms in times_ms:
        producer.produce(
            topic, json.dumps({"id": f"o{at_ms}", "amount": 1.0}), timestamp=at_ms, partition=at_ms % 2
        )
    assert producer.flush(30) == 0


def rows(file: Path) -> list[str]:
    return sorted(DeltaTable(str(file.parent / "lake")).to_pyarrow_table().column("id").to_pylist())


def state_of(file: Path) -> str:
    return str(file.parent / ".penstock" / "shop")
