"""Starts the Spark session that Penstock's pipelines run in.

One place decides what every session of ours shares: workers run this interpreter, times are UTC, nothing listens beyond
the loopback interface when Spark runs on this machine, and no web interface is opened unless it is asked for.
"""

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import SparkSession

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})

# A short local run is over before C2 and G1 have paid for themselves.
QUICK_START_JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

COMMON_SETTINGS = MappingProxyType(
    {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
)
LOCAL_SETTINGS = MappingProxyType(
    {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": " ".join(QUICK_START_JVM_OPTIONS),
    }
)


def start_session(
    app_name: str,
    *,
    master: str = "local[*]",
    remote: str | None = None,
    settings: Mapping[str, str] = NO_SETTINGS,
) -> SparkSession:
    """A session on `master`, or on the Spark Connect server at `remote`; `settings` win over what is set here."""
    if remote is not None:
        return _configured(SparkSession.builder.remote(remote), app_name, {**COMMON_SETTINGS, **settings})
    # Without this, workers run whatever `python3` the PATH names, which has no pyarrow.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    local = LOCAL_SETTINGS if master.startswith("local") else {}
    return _configured(
        SparkSession.builder.master(master), app_name, {**COMMON_SETTINGS, **local, **settings}
    )


def _configured(builder: SparkSession.Builder, app_name: str, settings: Mapping[str, str]) -> SparkSession:
    builder = builder.appName(app_name)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
