"""The source inside Spark: few tests, each with more than one thing to show, because a query costs seconds."""

import datetime as dt
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.source.topics import (
    add_partitions,
    delete_records,
    delete_topic,
    new_topic,
    produce,
    transact,
)
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(240)]

T0 = 1_700_000_000_000
LARGE = b"x" * 1_000_000


def read(spark: SparkSession, broker: BrokerProcess, topic: str, **options: Any) -> DataFrame:
    reader = spark.read.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
    return reader.option("subscribe", topic).options(**options).load()


class Stream:
    """A streaming query whose micro-batches are kept, and that can be run again from its checkpoint."""

    def __init__(
        self, spark: SparkSession, broker: BrokerProcess, topic: str, checkpoint: Path, **options: Any
    ) -> None:
        self.checkpoint = checkpoint
        self.batches: list[list[str]] = []
        choice = {} if "subscribePattern" in options else {"subscribe": topic}
        given = {"startingOffsets": "earliest", **choice, **options}
        reader = spark.readStream.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
        self._rows = reader.options(**given).load()

    def _keep(self, rows: DataFrame, _: int) -> None:
        self.batches.append([bytes(row.value).decode() for row in rows.select("value").collect()])

    def start(self, **trigger: Any) -> StreamingQuery:
        writer = self._rows.writeStream.foreachBatch(self._keep)
        return writer.option("checkpointLocation", str(self.checkpoint)).trigger(**trigger).start()

    def drain(self) -> list[str]:
        """Everything that is there now, and what the micro-batches of this run read."""
        already = len(self.batches)
        query = self.start(availableNow=True)
        assert query.awaitTermination(120)
        return sorted(value for batch in self.batches[already:] for value in batch)


@pytest.fixture
def endless() -> Iterator[list[StreamingQuery]]:
    """Queries that run until the test is over."""
    queries: list[StreamingQuery] = []
    yield queries
    for query in queries:
        query.stop()


def test_a_topic_is_a_table_with_the_connectors_columns(
    spark: SparkSession, shared_broker: BrokerProcess
) -> None:
    topic = new_topic(shared_broker.bootstrap, partitions=2)
    bootstrap = shared_broker.bootstrap
    produce(bootstrap, topic, [b"a", None], key=b"k", timestamp=T0, headers=[("h", b"1"), ("n", None)])
    produce(bootstrap, topic, [LARGE], partition=1, timestamp=T0 + 5, message_max_bytes=2_000_000)
    rows = read(spark, shared_broker, topic, includeHeaders="true").orderBy("partition", "offset").collect()
    assert [(row.key, row.partition, row.offset, row.timestampType) for row in rows] == [
        (b"k", 0, 0, 0),
        (b"k", 0, 1, 0),
        (None, 1, 0, 0),
    ]
    assert [row.value for row in rows] == [b"a", None, LARGE]
    assert {row.topic for row in rows} == {topic}
    assert rows[2].timestamp.astimezone(dt.UTC) == dt.datetime.fromtimestamp((T0 + 5) / 1000, dt.UTC)
    assert [[tuple(header) for header in row.headers or ()] for row in rows] == [
        [("h", b"1"), ("n", None)],
        [("h", b"1"), ("n", None)],
        [],
    ]
    assert rows[2].headers is None


def test_a_batch_is_bounded_by_offsets_and_timestamps_and_split_into_tasks(
    spark: SparkSession, shared_broker: BrokerProcess
) -> None:
    topic = new_topic(shared_broker.bootstrap, partitions=2)
    for number in range(10):
        produce(shared_broker.bootstrap, topic, [b"%d" % number], timestamp=T0 + number)
    produce(shared_broker.bootstrap, topic, [b"other"], partition=1, timestamp=T0)
    some = read(
        spark,
        shared_broker,
        topic,
        startingOffsets=json.dumps({topic: {"0": 2, "1": -2}}),
        endingOffsets=json.dumps({topic: {"0": 5, "1": -1}}),
        minPartitions="4",
    )
    assert some.rdd.getNumPartitions() == 4
    assert sorted(row.value for row in some.select("value").collect()) == [b"2", b"3", b"4", b"other"]
    recent = read(spark, shared_broker, topic, startingTimestamp=str(T0), endingTimestamp=str(T0 + 3))
    assert sorted(row.value for row in recent.collect()) == [b"0", b"1", b"2", b"other"]
    nothing = read(spark, shared_broker, topic, endingOffsets=json.dumps({topic: {"0": 0, "1": 0}}))
    assert nothing.collect() == []


def test_a_wrong_option_is_named_in_sparks_error(spark: SparkSession, shared_broker: BrokerProcess) -> None:
    with pytest.raises(AnalysisException, match="startingOffsets cannot be latest"):
        read(spark, shared_broker, "any", startingOffsets="latest").collect()
    with pytest.raises(AnalysisException, match="topic no-such-topic does not exist"):
        read(spark, shared_broker, "no-such-topic").collect()
    with pytest.raises(AnalysisException, match="columns of format penstock are fixed"):
        other = spark.read.format("penstock").schema("a INT").option("subscribe", "t")
        other.option("kafka.bootstrap.servers", shared_broker.bootstrap).load().collect()


def test_a_stream_goes_on_where_its_checkpoint_ends_and_finds_new_partitions(
    spark: SparkSession, shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    bootstrap = shared_broker.bootstrap
    topic = new_topic(bootstrap)
    produce(bootstrap, topic, [b"1", b"2", b"3", b"4", b"5"])
    stream = Stream(spark, shared_broker, topic, tmp_path, maxOffsetsPerTrigger="2")
    assert stream.drain() == ["1", "2", "3", "4", "5"]
    assert [len(batch) for batch in stream.batches] == [2, 2, 1]
    produce(bootstrap, topic, [b"6"])
    add_partitions(bootstrap, topic, 2)
    produce(bootstrap, topic, [b"7"], partition=1)
    assert stream.drain() == ["6", "7"]
    assert stream.drain() == []


def test_a_first_micro_batch_that_is_run_again_neither_loses_nor_doubles(
    spark: SparkSession, shared_broker: BrokerProcess, tmp_path: Path, endless: list[StreamingQuery]
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b"before"])
    stream = Stream(spark, shared_broker, topic, tmp_path, startingOffsets="latest")
    query = stream.start(processingTime="0 seconds")
    endless.append(query)
    query.processAllAvailable()
    query.stop()
    shutil.rmtree(tmp_path / "commits")  # as if the driver had died while the first micro-batch ran
    produce(shared_broker.bootstrap, topic, [b"after"])
    assert stream.drain() == ["after"]


def test_lost_records_stop_a_stream_or_are_passed_over(
    spark: SparkSession, shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    produce(shared_broker.bootstrap, topic, [b"1"])
    strict = Stream(spark, shared_broker, topic, tmp_path)
    assert strict.drain() == ["1"]
    produce(shared_broker.bootstrap, topic, [b"2", b"3", b"4"])
    delete_records(shared_broker.bootstrap, topic, before=3)
    with pytest.raises(StreamingQueryException, match=r"no longer has offset 1: it starts at 3"):
        strict.drain()
    lenient = Stream(spark, shared_broker, topic, tmp_path, failOnDataLoss="false")
    assert lenient.drain() == ["4"]


def test_a_topic_that_was_created_again_stops_a_stream_or_is_read_from_its_beginning(
    spark: SparkSession, shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    bootstrap = shared_broker.bootstrap
    topic = new_topic(bootstrap)
    produce(bootstrap, topic, [b"1"])
    strict = Stream(spark, shared_broker, topic, tmp_path)
    assert strict.drain() == ["1"]
    delete_topic(bootstrap, topic)
    new_topic(bootstrap, name=topic)
    produce(bootstrap, topic, [b"new 1", b"new 2"])
    with pytest.raises(
        StreamingQueryException, match=rf"topic {topic} was deleted and created again .*reset"
    ):
        strict.drain()
    lenient = Stream(spark, shared_broker, topic, tmp_path, failOnDataLoss="false")
    assert lenient.drain() == ["new 1", "new 2"]
    assert lenient.drain() == []


def test_small_partitions_share_tasks(spark: SparkSession, shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker.bootstrap, partitions=8)
    for partition in range(8):
        produce(shared_broker.bootstrap, topic, [b"%d" % partition] * 3, partition=partition)
    rows = read(spark, shared_broker, topic, cores="2")
    assert rows.rdd.getNumPartitions() == 2
    assert sorted(row.value for row in rows.collect()) == sorted([b"%d" % (n // 3) for n in range(24)])


def test_committed_records_alone_are_streamed_when_asked_for(
    spark: SparkSession, shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    topic = new_topic(shared_broker.bootstrap)
    transact(shared_broker.bootstrap, topic, [b"aborted"], commits=False)
    transact(shared_broker.bootstrap, topic, [b"committed"], commits=True)
    options = {"kafka.isolation.level": "read_committed"}
    assert Stream(spark, shared_broker, topic, tmp_path, **options).drain() == ["committed"]


def test_a_running_stream_survives_its_broker_and_meets_new_topics(
    spark: SparkSession, own_broker: BrokerProcess, tmp_path: Path, endless: list[StreamingQuery]
) -> None:
    bootstrap = own_broker.bootstrap
    new_topic(bootstrap, name="logs-a")
    produce(bootstrap, "logs-a", [b"1"])
    stream = Stream(spark, own_broker, "", tmp_path, subscribePattern="logs-.*")
    query = stream.start(processingTime="0 seconds")
    endless.append(query)
    query.processAllAvailable()
    own_broker.kill()
    own_broker.start()
    produce(bootstrap, "logs-a", [b"2"])
    new_topic(bootstrap, name="logs-b")
    produce(bootstrap, "logs-b", [b"3"])
    while sum(map(len, stream.batches)) < 3 and query.isActive:
        query.awaitTermination(1)
    assert sorted(value for batch in stream.batches for value in batch) == ["1", "2", "3"]
    query.processAllAvailable()  # the progress of the last batch is known only now
    progress = query.lastProgress
    assert progress is not None
    end = json.loads(progress.sources[0].endOffset)
    assert end.pop("topic ids").keys() == {"logs-a", "logs-b"}
    assert end == {"logs-a": {"0": 2}, "logs-b": {"0": 1}}
