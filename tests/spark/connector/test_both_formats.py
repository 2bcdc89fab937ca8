"""Our format and Spark's own connector on the same topics: either reads what the other wrote, in the same columns."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import ArrayType, BinaryType, StringType, StructField, StructType

from tests.spark.source.topics import new_topic, produce, transact
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]

FORMATS = ("penstock", "kafka")
T0 = 1_700_000_000_000
HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
RECORD = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("headers", ArrayType(HEADER)),
    ]
)
RECORDS: list[tuple[Any, ...]] = [
    (b"k1", b"v1", [("trace", b"abc"), ("empty", b""), ("none", None)]),
    (b"k2", None, None),
    (None, b"v3", None),
    (b"", b"", [("trace", b"1"), ("trace", b"2")]),
    (b"\x00\xff", "grüße".encode(), None),
    (b"large", b"x" * 200_000, None),
]


class Topics:
    """The address of the broker, for both formats."""

    def __init__(self, spark: SparkSession, broker: BrokerProcess) -> None:
        self.spark = spark
        self.bootstrap = broker.bootstrap

    def read(self, source_format: str, topic: str, **options: Any) -> DataFrame:
        return self.spark.read.format(source_format).options(**self._told(topic, options)).load()

    def read_stream(self, source_format: str, topic: str, **options: Any) -> DataFrame:
        options = {"startingOffsets": "earliest", **options}
        return self.spark.readStream.format(source_format).options(**self._told(topic, options)).load()

    def _told(self, topic: str, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            "subscribe": topic,
            "kafka.isolation.level": "read_committed",
            "includeHeaders": "true",
            **options,
        }

    def write(self, sink_format: str, topic: str, frame: DataFrame) -> None:
        writer = frame.write.format(sink_format).option("kafka.bootstrap.servers", self.bootstrap)
        writer.option("topic", topic).mode("append").save()

    def copy(
        self, rows: DataFrame, sink_format: str, topic: str, checkpoint: Path, **trigger: Any
    ) -> dict[str, Any]:
        """Stream what is there now into a topic; gives how far it was read."""
        writer = rows.select("key", "value", "headers").writeStream.format(sink_format)
        writer = writer.option("kafka.bootstrap.servers", self.bootstrap).option("topic", topic)
        query = (
            writer.option("checkpointLocation", str(checkpoint))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )
        assert query.awaitTermination(120)
        assert query.lastProgress is not None
        end = query.lastProgress.sources[0].endOffset
        reached: dict[str, Any] = json.loads(end) if isinstance(end, str) else end
        return reached


@pytest.fixture
def topics(spark: SparkSession, shared_broker: BrokerProcess) -> Topics:
    return Topics(spark, shared_broker)


def contents(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Key, value and headers, in an order that does not depend on partitions."""
    found = [
        (
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            None
            if row.headers is None
            else [(h.key, None if h.value is None else bytes(h.value)) for h in row.headers],
        )
        for row in rows
    ]
    return sorted(found, key=repr)


@pytest.mark.parametrize("reader", FORMATS)
@pytest.mark.parametrize("writer", FORMATS)
def test_keys_values_headers_and_nulls_written_by_one_are_read_by_the_other(
    topics: Topics, writer: str, reader: str
) -> None:
    topic = new_topic(topics.bootstrap, partitions=2)
    topics.write(writer, topic, topics.spark.createDataFrame(RECORDS, RECORD))
    assert contents(topics.read(reader, topic).collect()) == sorted(RECORDS, key=repr)


def test_all_clients_write_the_same_key_to_the_same_partition(topics: Topics) -> None:
    topic = new_topic(topics.bootstrap, partitions=7)
    keys = [(f"key-{number}".encode(), b"v", None) for number in range(50)]
    for writer in FORMATS:
        topics.write(writer, topic, topics.spark.createDataFrame(keys, RECORD))
    rows = (
        topics.read("kafka", topic)
        .groupBy("key")
        .agg({"partition": "collect_set", "value": "count"})
        .collect()
    )
    assert len(rows) == 50
    assert {(len(row["collect_set(partition)"]), row["count(value)"]) for row in rows} == {(1, 2)}


def test_both_give_the_same_rows_of_all_columns_and_leave_out_aborted_transactions(topics: Topics) -> None:
    topic = new_topic(topics.bootstrap, partitions=2)
    bootstrap = topics.bootstrap
    produce(bootstrap, topic, [b"a", None], key=b"k", timestamp=T0, headers=[("h", b"1"), ("n", None)])
    produce(bootstrap, topic, [b"c"] * 5, partition=1, timestamp=T0 + 5, compression_type="zstd")
    transact(bootstrap, topic, [b"no", b"never"], commits=False, name="aborts")
    transact(bootstrap, topic, [b"yes"], commits=True, name="commits")
    ours, theirs = (topics.read(each, topic).orderBy("partition", "offset") for each in FORMATS)
    assert [(f.name, f.dataType) for f in ours.schema] == [(f.name, f.dataType) for f in theirs.schema]
    assert ours.collect() == theirs.collect()
    assert [row.offset for row in ours.filter("partition = 0").collect()] == [0, 1, 5]
    all_of_it = {"kafka.isolation.level": "read_uncommitted"}
    assert {topics.read(each, topic, **all_of_it).count() for each in FORMATS} == {10}
    some = {"endingOffsets": json.dumps({topic: {"0": 2, "1": 3}}), "startingTimestamp": str(T0)}
    assert {topics.read(each, topic, **some).count() for each in FORMATS} == {5}


@pytest.mark.parametrize("sink", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_a_stream_goes_on_from_its_checkpoint(topics: Topics, source: str, sink: str, tmp_path: Path) -> None:
    incoming = new_topic(topics.bootstrap, partitions=2)
    outgoing = new_topic(topics.bootstrap, partitions=3)
    rows = topics.read_stream(source, incoming, maxOffsetsPerTrigger=4)
    produce(topics.bootstrap, incoming, [b"%d" % number for number in range(6)], headers=[("from", b"test")])
    topics.copy(rows, sink, outgoing, tmp_path)
    produce(topics.bootstrap, incoming, [b"6", b"7"], partition=1)
    assert topics.copy(rows, sink, outgoing, tmp_path) == {incoming: {"0": 6, "1": 2}}
    expected = [(None, b"%d" % number, [("from", b"test")] if number < 6 else None) for number in range(8)]
    for reader in FORMATS:
        assert contents(topics.read(reader, outgoing).collect()) == expected
