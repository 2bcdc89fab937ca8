"""Fixtures for pytest: `pytest_plugins = ["penstock.spark.testing.plugin"]`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.testing.kit import PipelineKit, running_kit
from penstock.spark.testing.session import start_test_session


@pytest.fixture(scope="session")
def penstock_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole run: a JVM takes seconds to start."""
    session = start_test_session(str(tmp_path_factory.mktemp("penstock-spark")))
    yield session
    session.stop()


@pytest.fixture
def pipeline_kit(penstock_spark: SparkSession, tmp_path: Path) -> Iterator[PipelineKit]:
    """A kit with a broker of its own, which starts in milliseconds: no test sees the records of another."""
    with running_kit(spark=penstock_spark, directory=str(tmp_path)) as kit:
        yield kit
