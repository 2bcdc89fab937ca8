"""The sink as Spark users meet it: what is written, what is reported, what a replayed batch changes (nothing)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.client.blocking.client import BlockingClient
from penstock.spark.datasource import PenstockDataSource
from penstock.spark.options import Options
from penstock.spark.sink.transactions import BrokerTransactions
from tests.spark.sink.live import (
    committed_messages,
    committed_rows,
    new_name,
    write_rows,
)
from tests.support.broker import BrokerProcess

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    spark.dataSource.register(PenstockDataSource)
    return spark


@pytest.fixture
def cluster(shared_broker: BrokerProcess) -> Iterator[BlockingClient]:
    cluster = BlockingClient(Options({"kafka.bootstrap.servers": shared_broker.bootstrap}).client_settings())
    yield cluster
    cluster.close()


def save(frame: DataFrame, broker: BrokerProcess, **options: str) -> None:
    writer = frame.write.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
    writer.options(**options).mode("append").save()


def start(
    session: SparkSession, broker: BrokerProcess, source: str, target: str, checkpoint: Path, **options: str
) -> StreamingQuery:
    """One run over all that is in a topic by now, a few records at a time."""
    reader = session.readStream.format("penstock").option("kafka.bootstrap.servers", broker.bootstrap)
    rows = reader.options(subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger="40").load()
    writer = rows.selectExpr("key", "value").writeStream.format("penstock")
    writer = writer.option("kafka.bootstrap.servers", broker.bootstrap).options(topic=target, **options)
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()


def finish(query: StreamingQuery) -> StreamingQuery:
    assert query.awaitTermination(120)
    return query


def test_every_column_becomes_the_part_of_a_record_it_names(
    session: SparkSession, shared_broker: BrokerProcess, cluster: BlockingClient
) -> None:
    first, second = new_name("first"), new_name("second")
    for topic in (first, second):
        cluster.create_topic(topic, partitions=3)
    frame = session.sql(f"""
        select 'k' key, cast('v1' as binary) value, '{first}' topic, 2 partition,
               array(named_struct('key', 'h', 'value', cast('x' as binary))) headers
        union all select null, null, '{second}', 1, null
    """)
    save(frame, shared_broker, **{"kafka.compression.type": "lz4"})
    (one,) = committed_messages(shared_broker.bootstrap, first)
    assert (one.key(), one.value(), one.partition(), one.headers()) == (b"k", b"v1", 2, [("h", b"x")])
    (other,) = committed_messages(shared_broker.bootstrap, second)
    assert (other.key(), other.value(), other.partition(), other.headers()) == (None, None, 1, None)


def test_a_batch_write_that_fails_leaves_nothing_visible(
    session: SparkSession, shared_broker: BrokerProcess, cluster: BlockingClient
) -> None:
    topic = new_name("failed")
    cluster.create_topic(topic, partitions=2)
    frame = session.range(0, 50_000, 1, 2).selectExpr(
        "cast(if(id = 49999, raise_error('no more'), id) as string) value"
    )
    with pytest.raises(PySparkException, match="no more"):
        save(frame, shared_broker, topic=topic)
    assert committed_rows(shared_broker.bootstrap, topic) == []


def test_what_is_wrong_is_said_in_the_words_of_sparks_kafka_sink(
    session: SparkSession, shared_broker: BrokerProcess
) -> None:
    with pytest.raises(PySparkException, match="Required attribute 'value' not found"):
        save(session.range(1), shared_broker, topic="t")
    with pytest.raises(PySparkException, match="topic option required when no 'topic' attribute is present"):
        save(session.sql("select 'x' value"), shared_broker)


def test_a_stream_that_is_stopped_started_and_made_to_replay_writes_each_row_once(
    session: SparkSession, shared_broker: BrokerProcess, cluster: BlockingClient, tmp_path: Path
) -> None:
    source, target = new_name("in"), new_name("out")
    for topic in (source, target):
        cluster.create_topic(topic, partitions=2)
    write_rows(cluster, shared_broker.bootstrap, source, range(100))
    query = finish(start(session, shared_broker, source, target, tmp_path))
    assert sorted(committed_rows(shared_broker.bootstrap, target)) == list(range(100))
    last = BrokerTransactions(cluster).last_decision(str(query.id), is_stable=True)
    assert last is not None
    commits = tmp_path / "commits"
    assert (commits / str(last.batch_id)).exists()
    assert last.run_id == str(query.runId)

    for name in (f"{last.batch_id}", f".{last.batch_id}.crc"):  # as if Spark had died before it wrote this
        (commits / name).unlink()
    write_rows(cluster, shared_broker.bootstrap, source, range(100, 150))
    finish(start(session, shared_broker, source, target, tmp_path))
    assert sorted(committed_rows(shared_broker.bootstrap, target)) == list(range(150))
    assert BrokerTransactions(cluster).open_transactional_ids(str(query.id)) == []


def test_a_stream_may_ask_for_at_least_once_and_then_decides_nothing(
    session: SparkSession, shared_broker: BrokerProcess, cluster: BlockingClient, tmp_path: Path
) -> None:
    source, target = new_name("in"), new_name("out")
    write_rows(cluster, shared_broker.bootstrap, source, range(30))
    query = finish(start(session, shared_broker, source, target, tmp_path, delivery="at-least-once"))
    assert sorted(committed_rows(shared_broker.bootstrap, target)) == list(range(30))
    assert BrokerTransactions(cluster).last_decision(str(query.id), is_stable=True) is None
