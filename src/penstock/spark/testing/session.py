"""The session of a test run."""

import os
from collections.abc import Mapping

from pyspark.sql import SparkSession

from penstock.spark.session import NO_SETTINGS, start_session


def start_test_session(directory: str, settings: Mapping[str, str] = NO_SETTINGS) -> SparkSession:
    """Start a local session that starts quickly and keeps its files and its `spark.log` in `directory`."""
    return start_session(
        "penstock-tests",
        master="local[2]",
        settings={
            "spark.sql.shuffle.partitions": "1",
            "spark.default.parallelism": "2",
            "spark.sql.warehouse.dir": os.path.join(directory, "warehouse"),
            "spark.sql.streaming.checkpointLocation": os.path.join(directory, "checkpoints"),
            "spark.local.dir": os.path.join(directory, "local"),
            **settings,
        },
        is_short_run=True,
        log_path=os.path.join(directory, "spark.log"),
    )
