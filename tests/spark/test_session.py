"""The session that every pipeline runs in."""

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def test_times_are_utc_whatever_the_machine_says(spark: SparkSession) -> None:
    row = spark.sql("SELECT CAST(TIMESTAMP '2020-01-01 00:00:00' AS LONG) AS seconds").first()
    assert row is not None
    assert row.seconds == 1577836800


def test_python_workers_run_this_interpreter(spark: SparkSession) -> None:
    def interpreter(rows: object) -> list[str]:
        import sys

        return [sys.executable]

    import sys

    found = spark.sparkContext.parallelize([1], 1).mapPartitions(interpreter).collect()
    assert found == [sys.executable]
