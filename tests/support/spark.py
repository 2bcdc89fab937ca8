"""One Spark session for all Spark tests of a pytest worker.

Spark tests carry `pytest.mark.xdist_group("spark")`, so that one worker runs them all and one JVM serves them.
Those that start Spark in processes of their own carry `spark_processes`: one after the other, on another worker.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the session's log."""
    return tmp_path_factory.mktemp("spark") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log: Path) -> "Iterator[SparkSession]":
    """A local session. PySpark's JVM ends when this process does, stopped or not."""
    # Not imported above: this file is loaded by every run, and PySpark is slow to import.
    from penstock.spark.testing.session import start_test_session

    session = start_test_session(str(spark_log.parent))
    yield session
    session.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """PySpark's logger of errors makes every handler that it is given write JSON. After an error in Spark pytest gives
    it its own handlers, in all tests that come later.
    """
    plugin: Any = item.config.pluginmanager.get_plugin("logging-plugin")
    for handler in (plugin.caplog_handler, plugin.report_handler):
        handler.setFormatter(plugin.formatter)
