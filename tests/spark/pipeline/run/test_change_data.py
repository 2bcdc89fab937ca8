"""Recorded changes of a database become its tables: one output for all, and one output for one table."""

import datetime as dt
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.spark.dead_letter_format import read_headers
from penstock.spark.pipeline.run.runner import run
from penstock.spark.pipeline.yaml.file import read_yaml
from tests.spark.decode.debezium.recorded_events import Record, events, schemas
from tests.support.broker import BrokerProcess
from tests.support.registry import running_registry

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

CUSTOMERS = [
    {"id": 2, "name": "Bob", "email": "bob@example.org", "points": 7},
    {"id": 4, "name": "Dee", "email": "dee@example.org", "points": None},
    {"id": 5, "name": "Eve", "email": None, "points": 9},
    {"id": 10, "name": "Ann", "email": "ann@example.org", "points": None},
]


class Database:
    """A broker's topics with the recorded changes, under a prefix of their own, and a pipeline that reads them."""

    def __init__(self, broker: BrokerProcess, directory: Path, spark: SparkSession, form: str) -> None:
        self.bootstrap = broker.bootstrap
        self.directory = directory
        self.spark = spark
        self.prefix = f"db{abs(hash(str(directory))) % 10**8}"
        self.records = [each for each in events(form) if each.topic.startswith("shop.")]

    def send(self, records: Sequence[Record]) -> None:
        topics = sorted({self.topic(each) for each in records})
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        created = admin.create_topics([NewTopic(topic, 1, 1) for topic in topics])
        for future in created.values():
            future.exception(30)  # a topic may be there already
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for each in records:
            producer.produce(self.topic(each), key=each.key, value=each.value)
        assert producer.flush(30) == 0

    def topic(self, record: Record) -> str:
        return f"{self.prefix}{record.topic.removeprefix('shop')}"

    def run(self, decode: str, outputs: str, source: str = "") -> int:
        path = self.directory / "cdc.yaml"
        topics = source or f"pattern: {self.prefix}[.](public[.].*|transaction)"
        text = (
            f"pipeline: {self.prefix}\nbootstrap_servers: {self.bootstrap}\nsources:\n  changes:\n"
            f"    {topics}\n    decode: {decode}\noutputs:\n{outputs}\n"
        )
        return run(read_yaml(text, str(path), {}), once=True, spark=self.spark, quiet=True).exit_code

    def table(self, name: str, key: str = "id") -> list[dict[str, Any]]:
        rows = DeltaTable(str(self.directory / "lake" / name)).to_pyarrow_table().to_pylist()
        kept = [{name: value for name, value in row.items() if not name.startswith("_")} for row in rows]
        return sorted(kept, key=lambda row: int(row[key]))

    def dead_letters(self) -> list[str]:
        """Return topic and reason of each."""
        consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": self.prefix, "auto.offset.reset": "earliest",
             "enable.partition.eof": True}
        )  # fmt: skip
        consumer.subscribe([f"{self.prefix}.dlq"])
        found = []
        while (message := consumer.poll(30)) is not None and message.error() is None:
            letter = read_headers(message.headers() or [])
            assert letter is not None
            assert letter.origin is not None
            found.append(f"{letter.origin.topic.removeprefix(self.prefix)}: {letter.error}")
        consumer.close()
        return sorted(found)


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    with running_registry() as stub:
        stub.add_schemas(schemas())
        yield stub.url


ALL_TABLES = "  all: {from: changes, table: ./lake/{table}, for_each_topic: true, mode: upsert}".replace(
    "./lake/{table}", "'./lake/{table}'"
)


@pytest.mark.parametrize("form", ["json_schemas", "avro"])
def test_a_directory_of_tables_equals_the_database(
    shared_broker: BrokerProcess, tmp_path: Path, spark: SparkSession, registry: str, form: str
) -> None:
    database = Database(shared_broker, tmp_path, spark, form)
    decode = "debezium" if form != "avro" else f"{{debezium: {{registry_url: '{registry}'}}}}"
    # The table that is created later, the new column and the truncate come in later runs.
    late = [each for each in database.records if each.topic.endswith(".late")]
    early = [each for each in database.records if each not in late]
    half = [each for each in early if each.offset < 5]
    for part in (half, [each for each in early if each not in half], late):
        database.send(part)
        assert database.run(decode, ALL_TABLES) == 0
    assert database.table("customers") == CUSTOMERS
    assert database.table("full_identity") == [{"id": 8, "v": "after"}]
    assert database.table("late") == [{"id": 1, "what": "a table that came later"}]
    first, second = database.table("everything")
    assert (first["id"], first["price"], first["day"], first["tm"]) == (
        1,
        None,
        dt.date(1900, 1, 1),
        "23:59:59",
    )
    assert (first["ts"], first["numbers"]) == (dt.datetime(1969, 12, 31, 23, 59, 59, 999999), [1, None, 3])
    assert (second["id"], second["price"]) == (2, Decimal("-0.001"))
    letters = database.dead_letters()
    assert [each.partition(",")[0] for each in letters] == [".public.nokey: the record has no key"] * 2
    # Everything again, as after a crash of the connector: nothing is newer than what is there.
    versions = {name: database.table(name) for name in ("customers", "full_identity")}
    database.send(
        [each for each in database.records if each.topic.endswith((".customers", ".full_identity"))]
    )
    assert database.run(decode, ALL_TABLES) == 0
    assert {name: database.table(name) for name in versions} == versions


def test_one_table_has_the_columns_of_the_newest_events(
    shared_broker: BrokerProcess, tmp_path: Path, spark: SparkSession
) -> None:
    database = Database(shared_broker, tmp_path, spark, "json")
    database.send(database.records)
    target = "key: id, mode: upsert, order_by: _order, delete_when: \"_op = 'd'\""
    outputs = f"  all: {{from: changes, table: ./lake/full, {target}}}"
    source = f"topic: {database.prefix}.public.full_identity"
    assert database.run("debezium", outputs, source) == 0
    assert database.table("full") == [{"id": 8, "v": "after"}]
