"""Starts the Spark session that Penstock's pipelines run in.

All sessions share these settings (docs/adr/0008-spark-session.md): the Java, workers that run this interpreter, times
in UTC, listeners on the loopback interface only when Spark runs on this machine, no web interface by default, and the
log in a file instead of on the terminal.
"""

import os
import re
from collections.abc import Mapping

from pyspark.sql import SparkSession

from penstock.spark.class_archive import archive_options, archive_path
from penstock.spark.java import SparkDidNotStart, bundled_java_home, cache_directory, find_java
from penstock.spark.launch import COMMON_SETTINGS, get_or_create_session, launch_session, session_settings

NO_SETTINGS: Mapping[str, str] = {}

# A short run ends before C2 and G1 pay off.
_SHORT_RUN_JVM_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def start_session(
    app_name: str,
    *,
    master: str = "local[*]",
    remote: str | None = None,
    settings: Mapping[str, str] = NO_SETTINGS,
    is_short_run: bool = False,
    show_logs: bool = False,
    log_path: str | None = None,
) -> SparkSession:
    """Start a session on `master`, or on the Spark Connect server at `remote`; `settings` override the defaults.

    A process that has a session already gets that one. With `is_short_run` it starts sooner and computes slower.
    Spark's log lines go to `log_path` (by default a file in the cache directory), or to the terminal with `show_logs`.
    """
    if remote is not None:
        return get_or_create_session(
            SparkSession.builder.remote(remote), {"spark.app.name": app_name, **COMMON_SETTINGS, **settings}
        )
    cache = cache_directory(os.environ)
    java = find_java(os.environ, cache, bundled_java_home())
    archive = archive_path(java, cache)
    jvm_options = _SHORT_RUN_JVM_OPTIONS if is_short_run else ()
    log_name = re.sub(r"[^\w.-]", "_", app_name)
    log = None if show_logs else log_path or str(cache / "logs" / f"{log_name}.log")
    quick = session_settings(app_name, master, [*archive_options(archive), *jvm_options], settings)
    try:
        return launch_session(java, quick, log_path=log)
    except SparkDidNotStart:
        if not archive.exists():
            raise
        archive.unlink(missing_ok=True)  # it may be to blame: a damaged one can crash a JVM
    return launch_session(java, session_settings(app_name, master, jvm_options, settings), log_path=log)
