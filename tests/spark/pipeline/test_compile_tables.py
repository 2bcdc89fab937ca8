"""Tables as sources of streams."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.pipeline.compile_sources import read_streams
from penstock.spark.pipeline.model import Pipeline, TableSource

pytestmark = pytest.mark.xdist_group("spark")

SCHEMA = "id INT, name STRING, since TIMESTAMP"
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


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
