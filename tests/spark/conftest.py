"""One Spark session for all Spark tests of a pytest worker.

Spark tests carry `pytest.mark.xdist_group("spark")`, so that one worker runs them all and one JVM serves them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.session import start_session


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session's log lines are."""
    return tmp_path_factory.mktemp("spark") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log: Path) -> Iterator[SparkSession]:
    """A local session. PySpark's JVM ends when this process does, stopped or not."""
    home = spark_log.parent
    session = start_session(
        "penstock-tests",
        master="local[2]",
        settings={
            "spark.sql.shuffle.partitions": "1",
            "spark.default.parallelism": "2",
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            "spark.sql.streaming.checkpointLocation": str(home / "checkpoints"),
            "spark.local.dir": str(home / "local"),
        },
        is_short_run=True,
        log_path=str(spark_log),
    )
    yield session
    session.stop()
