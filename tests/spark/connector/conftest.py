"""A session with Spark's own Kafka connector on its class path. `make interop-spark` runs these tests.

The connector must be there when the JVM starts, so these tests cannot share the session of the other Spark tests: they
are collected only when INTEROP_SPARK is set.
"""

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.spark.testing.session import start_test_session
from tests.support.plugin import require_spark_connector

collect_ignore_glob = [] if os.environ.get("INTEROP_SPARK") else ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Instead of the session that the other Spark tests share."""
    jars = ",".join(require_spark_connector())
    directory = tmp_path_factory.mktemp("spark-connector")
    session = start_test_session(str(directory), settings={"spark.jars": jars})
    yield session
    session.stop()
