"""One Spark session for all Spark tests of a pytest worker.

Spark tests carry `pytest.mark.xdist_group("spark")`, so that one worker runs them all and one JVM serves them.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.session import start_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session. PySpark's JVM ends when this process does, stopped or not."""
    home: Path = tmp_path_factory.mktemp("spark")
    session = start_session(
        "penstock-tests",
        master="local[2]",
        settings={
            "spark.sql.shuffle.partitions": "1",
            "spark.default.parallelism": "2",
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            "spark.sql.streaming.checkpointLocation": str(home / "checkpoints"),
            "spark.local.dir": str(home / "local"),
            "spark.log.level": "ERROR",
        },
    )
    yield session
    session.stop()
