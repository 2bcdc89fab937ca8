from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.pipeline.compile.sources import range_options, read_streams, topic_options
from penstock.spark.pipeline.core.model import Pipeline, TableSource, TopicSource

SCHEMA = "id INT, name STRING, since TIMESTAMP"
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
SHOP = Pipeline(
    name="shop",
    bootstrap_servers="a:1,b:2",
    kafka={"security.protocol": "SSL", "kafka.client.id": "me"},
    directory="/files",
    sources=(),
    outputs=(),
)


def options(**source: object) -> dict[str, str]:
    return topic_options(SHOP, TopicSource(name="s", topics=("x", "y"), **source))  # type: ignore[arg-type]


def test_a_source_gets_its_topics_its_brokers_and_the_client_properties() -> None:
    assert options() == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.security.protocol": "SSL",
        "kafka.client.id": "me",
        "kafka.isolation.level": "read_committed",
        "subscribe": "x,y",
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def test_a_file_may_ask_for_what_was_not_committed() -> None:
    asking = Pipeline(name="shop", kafka={"isolation.level": "read_uncommitted"}, sources=(), outputs=())
    result = topic_options(asking, TopicSource(name="s", topics=("x",)))
    assert result["kafka.isolation.level"] == "read_uncommitted"


def test_a_pattern_is_subscribed_to_as_one() -> None:
    result = topic_options(SHOP, TopicSource(name="s", pattern="x-.*"))
    assert result["subscribePattern"] == "x-.*"
    assert "subscribe" not in result


def test_a_source_may_begin_at_offsets_or_at_a_time() -> None:
    assert options(starting='{"x":{"0":4}}')["startingOffsets"] == '{"x":{"0":4}}'
    result = options(starting="2026-01-01T00:00:00Z")
    assert result["startingTimestamp"] == "1767225600000"
    assert "startingOffsets" not in result


def test_the_users_options_win() -> None:
    result = options(max_offsets_per_trigger=10, options={"includeHeaders": "false", "minPartitions": "4"})
    assert (
        result["maxOffsetsPerTrigger"],
        result["includeHeaders"],
        result["minPartitions"],
    ) == (
        "10",
        "false",
        "4",
    )


def test_a_range_has_both_ends_and_nothing_about_streams() -> None:
    source = TopicSource(name="s", topics=("x",), options={"maxOffsetsPerTrigger": "5", "minPartitions": "4"})
    result = range_options(SHOP, source, {"x": {0: 1}}, {"x": {0: 9}})
    assert (result["startingOffsets"], result["endingOffsets"]) == (
        '{"x": {"0": 1}}',
        '{"x": {"0": 9}}',
    )
    assert "maxOffsetsPerTrigger" not in result
    assert result["minPartitions"] == "4"


@pytest.mark.xdist_group("spark")
def test_each_batch_of_a_stream_sees_the_table_as_it_is_then(spark: SparkSession, tmp_path: Path) -> None:
    def add(name: str) -> None:
        row = spark.createDataFrame([(1, name, SINCE)], SCHEMA)
        row.write.format("penstock_lake").mode("append").save(str(tmp_path / "customers"))
        spark.createDataFrame([(1,)], "id INT").write.mode("append").parquet(str(tmp_path / "orders"))

    add("Ada")
    pipeline = Pipeline(name="shop", directory=str(tmp_path), sources=(), outputs=())
    customers = read_streams(spark, pipeline)(TableSource(name="customers", path="customers"))
    orders = spark.readStream.schema("id INT").parquet(str(tmp_path / "orders"))
    query = (
        orders.join(customers, "id")
        .writeStream.format("memory")
        .queryName("seen")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        query.processAllAvailable()
        add("Bob")
        query.processAllAvailable()
    finally:
        query.stop()
    seen = spark.table("seen").collect()
    assert sorted(row.name for row in seen) == ["Ada", "Ada", "Bob"]
    assert {row.since.astimezone(UTC) for row in seen} == {SINCE}
