"""Tables through a real Spark session."""

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.lake.formats import TABLE_FORMATS, open_table

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(params=TABLE_FORMATS)
def table_format(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


EVERYTHING = """
    select 1 as id, true as flag, cast(2 as smallint) as small, 1.5d as real, 'é' as text, X'00ff' as bytes,
           cast('-12345678901.2345' as decimal(20, 4)) as price, date'1969-12-31' as day,
           timestamp'2024-01-02 03:04:05.678901' as at, timestamp_ntz'1960-01-02 03:04:05.678901' as local,
           array(1, null) as list, map('a', 1.0d, 'b', null) as map,
           named_struct('a', 1, 'deep', named_struct('l', array('x'))) as struct, 'p/1' as part
    union all
    select 2, null, null, null, null, null, null, null, null, null, null, null, null, null
"""


def test_rows_of_every_kind_come_back_through_spark(
    spark: SparkSession, tmp_path: Path, table_format: str
) -> None:
    path = str(tmp_path / "t")
    rows = spark.sql(EVERYTHING)
    writer = (
        rows.write.format("penstock_lake").option("table_format", table_format).option("partition_by", "part")
    )
    writer.mode("append").save(path)
    found = spark.read.format("penstock_lake").load(path)
    first, second = found.orderBy("id").collect()
    expected = rows.orderBy("id").collect()
    assert {name: first[name] for name in found.columns} == expected[0].asDict()
    assert second.asDict() == expected[1].asDict()
    assert first["price"] == decimal.Decimal("-12345678901.2345")
    assert first["day"] == dt.date(1969, 12, 31)
    if table_format != "iceberg":  # whose integers begin at 32 bits
        assert {field.name: field.dataType.simpleString() for field in found.schema} == {
            field.name: field.dataType.simpleString() for field in rows.schema
        }


def test_spark_s_own_parquet_reader_reads_a_parquet_table(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = spark.createDataFrame([(1, "a/b é"), (2, None)], "id int, place string")
    options = {"table_format": "parquet", "partition_by": "place"}
    rows.write.format("penstock_lake").options(**options).mode("append").save(path)
    assert sorted(map(tuple, spark.read.parquet(path).select("id", "place").collect())) == [
        (1, "a/b é"),
        (2, None),
    ]


def test_append_adds_and_overwrite_replaces(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for mode, first in (("append", 0), ("append", 10), ("overwrite", 20), ("append", 30)):
        rows = spark.range(first, first + 2)
        rows.write.format("penstock_lake").mode(mode).save(path)
    found = spark.read.format("penstock_lake").load(path)
    assert sorted(row.id for row in found.collect()) == [20, 21, 30, 31]


def test_filters_skip_files_where_spark_hands_them_over(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = spark.range(100).selectExpr("id", "concat('p', id % 4) as place")
    rows.write.format("penstock_lake").option("partition_by", "place").mode("append").save(path)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        found = spark.read.format("penstock_lake").option("push_filters", "true").load(path)
        assert found.where("place = 'p1' and id > 50").count() == 12
        assert found.where("place is null").count() == 0
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.fixture
def numbers(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A stream of three files, each a batch: 0 to 29."""
    source = tmp_path / "numbers"
    for first in (0, 10, 20):
        spark.range(first, first + 10, numPartitions=1).write.mode("append").parquet(str(source))
    return spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(str(source))


def run(rows: DataFrame, path: Path, checkpoint: Path, mode: str = "append", **options: Any) -> None:
    query = (
        rows.writeStream.format("penstock_lake")
        .options(**options)
        .outputMode(mode)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start(str(path))
    )
    query.awaitTermination()


def test_a_replayed_batch_changes_nothing(numbers: DataFrame, tmp_path: Path, table_format: str) -> None:
    path, checkpoint = tmp_path / "t", tmp_path / "checkpoint"
    rows = numbers.selectExpr("id", "id % 3 as part")
    options = {"table_format": table_format, "partition_by": "part"}
    run(rows, path, checkpoint, **options)
    table = open_table(str(path))
    assert [each.batch_id for each in table.history(3)] == [2, 1, 0]
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda each: int(each.name))
    last.unlink()  # as if the driver had died after the table's commit and before Spark's
    (checkpoint / "commits" / f".{last.name}.crc").unlink(missing_ok=True)
    run(rows.repartition(3), path, checkpoint, **options)
    found = rows.sparkSession.read.format("penstock_lake").load(str(path))
    assert sorted(row.id for row in found.collect()) == list(range(30))
    assert [each.batch_id for each in table.history(3)] == [2, 1, 0]


def test_batches_without_rows_are_no_versions_and_the_stream_goes_on(
    numbers: DataFrame, tmp_path: Path
) -> None:
    run(numbers.where("id >= 20"), tmp_path / "t", tmp_path / "checkpoint")
    table = open_table(str(tmp_path / "t"))
    assert [each.batch_id for each in table.history(9) if each.batch_id is not None] == [2]
    assert table.size().rows == 10


def test_complete_mode_keeps_only_the_last_result(numbers: DataFrame, tmp_path: Path) -> None:
    run(numbers.groupBy().count(), tmp_path / "t", tmp_path / "checkpoint", mode="complete")
    found = numbers.sparkSession.read.format("penstock_lake").load(str(tmp_path / "t"))
    assert [row["count"] for row in found.collect()] == [30]


def test_errors_reach_the_user_of_spark_with_the_columns_named(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(1).write.format("penstock_lake").mode("append").save(path)
    with pytest.raises(
        PySparkException, match=r"has no column extra \(string\): set the option merge_schema=true"
    ):
        spark.sql("select 1L as id, 'x' as extra").write.format("penstock_lake").mode("append").save(path)
    with pytest.raises(AnalysisException, match="there is no table at"):
        spark.read.format("penstock_lake").load(str(tmp_path / "nothing"))
