"""The session that every pipeline runs in."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from penstock.spark.launch import session_settings, worker_python

pytestmark = pytest.mark.xdist_group("spark")


def test_times_are_utc_in_any_time_zone_of_the_machine(spark: SparkSession) -> None:
    row = spark.sql("SELECT CAST(TIMESTAMP '2020-01-01 00:00:00' AS LONG) AS seconds").first()
    assert row is not None
    assert row.seconds == 1577836800


def test_python_workers_run_this_interpreter(spark: SparkSession) -> None:
    def interpreter(_rows: object) -> Iterator[str]:
        import sys

        yield sys.executable

    found = spark.sparkContext.parallelize([1], 1).mapPartitions(interpreter).collect()
    assert found == [sys.executable]


def test_python_workers_do_not_compile_pyspark_anew(spark: SparkSession) -> None:
    def origin(_rows: object) -> Iterator[str]:
        import pyspark

        yield pyspark.__file__

    found = spark.sparkContext.parallelize([1], 1).mapPartitions(origin).collect()
    assert found == [pyspark.__file__]  # and not in Spark's zip


def test_another_interpreter_can_be_chosen_for_workers() -> None:
    assert worker_python({}, {}) == sys.executable
    assert worker_python({}, {"PYSPARK_PYTHON": "/opt/a"}) == "/opt/a"
    assert worker_python({"spark.pyspark.python": "/opt/b"}, {"PYSPARK_PYTHON": "/opt/a"}) == "/opt/b"


def test_spark_on_this_machine_listens_on_loopback_only() -> None:
    for master in ("local[2]", "spark://127.0.0.1:7077"):
        assert session_settings("a", master, [], {})["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.bindAddress" not in session_settings("a", "spark://host:7077", [], {})


def test_settings_of_the_user_win_and_their_jvm_options_are_added() -> None:
    given = {"spark.driver.extraJavaOptions": "-Dx=1", "spark.ui.enabled": "true"}
    settings = session_settings("a", "local[2]", ["-Xint"], given)
    assert settings["spark.driver.extraJavaOptions"] == "-Xint -Dx=1"
    assert settings["spark.ui.enabled"] == "true"


def test_log_lines_of_spark_go_to_the_file(spark: SparkSession, spark_log: Path) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.org.apache.logging.log4j.LogManager.getLogger("test").error("seen in the file")
    assert "ERROR test: seen in the file" in spark_log.read_text()
