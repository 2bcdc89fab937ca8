"""Starts Spark's JVM and a session in it.

The session builder is not used for this, because the JVM's standard error has to go to the log. Its standard output
is kept: Spark's console sink prints there.
"""

import contextlib
import logging
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from penstock.spark.java import Java, SparkDidNotStart

_JVM_OPTIONS_SETTING = "spark.driver.extraJavaOptions"
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_WORKER_SITE = str(Path(__file__).with_name("worker_site"))
_LOG_TAIL_BYTES = 2000

COMMON_SETTINGS: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Spark counts records alone by default, and 10,000 records of 1 MB are 10 GB in one batch.
    "spark.sql.execution.arrow.maxBytesPerBatch": "32m",
    # A driver that is killed while it writes its first offsets leaves a temporary file beside them, and Spark
    # would refuse to ever start the query again.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
# On a busy machine a Python worker may need longer to start than Spark's default of 15 s.
_WORKER_TIMEOUT: Mapping[str, str] = {"spark.python.authenticate.socketTimeout": "120s"}
_QUIET: Mapping[str, str] = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_LOOPBACK: Mapping[str, str] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def session_settings(
    app_name: str, master: str, jvm_options: Iterable[str], settings: Mapping[str, str]
) -> dict[str, str]:
    """Return all settings of a session. The user's JVM options are added to ours; other settings replace ours."""
    options = [*jvm_options, settings.get(_JVM_OPTIONS_SETTING, "")]
    return {
        "spark.app.name": app_name,
        "spark.master": master,
        **COMMON_SETTINGS,
        **_WORKER_TIMEOUT,
        **_QUIET,
        **(_LOOPBACK if _is_on_this_machine(master) else {}),
        **settings,
        _JVM_OPTIONS_SETTING: " ".join(filter(None, options)),
    }


def _is_on_this_machine(master: str) -> bool:
    host = master.partition("://")[2].rpartition(":")[0]
    return master.startswith("local") or host in ("127.0.0.1", "localhost", "[::1]")


def worker_python(settings: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return the interpreter for workers: the configured one, else this one, not the `python3` of their PATH.

    Data sources run it on the driver's machine too, so its path must be valid on all machines.
    """
    return settings.get("spark.pyspark.python") or environ.get("PYSPARK_PYTHON") or sys.executable


def launch_session(java: Java, settings: Mapping[str, str], *, log_path: str | None) -> SparkSession:
    """Start a JVM with these settings, unless this process has one, and a session in it."""
    if log_path is not None:
        # PySpark also prints each error as JSON.
        PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    os.environ["JAVA_HOME"] = java.home
    os.environ["PYSPARK_PYTHON"] = worker_python(settings, os.environ)
    # Spark would run data sources with this interpreter, such as a notebook's.
    os.environ.pop("PYSPARK_DRIVER_PYTHON", None)
    if _is_on_this_machine(settings["spark.master"]):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK["spark.driver.host"])  # else executors take eth0's
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    conf.set(_JVM_OPTIONS_SETTING, f"{settings[_JVM_OPTIONS_SETTING]} {_log_options(log_path)}")
    if SparkContext._gateway is None:  # noqa: SLF001 - one JVM serves all sessions of a process
        SparkContext(conf=conf, gateway=_launch_jvm(conf, log_path))
    return get_or_create_session(SparkSession.builder, settings)


def _launch_jvm(conf: SparkConf, log_path: str | None) -> Any:
    """Launch a JVM that ends with this process. Its standard error goes to the log as well."""
    if log_path is not None:
        os.makedirs(os.path.dirname(log_path) or ".", exist_ok=True)
    launch: Any = java_gateway.launch_gateway  # untyped
    with contextlib.ExitStack() as opened:
        log = opened.enter_context(open(log_path, "ab")) if log_path is not None else None
        begin = log.tell() if log is not None else 0
        opened.enter_context(_worker_pythonpath())
        try:
            return launch(conf, {"stderr": log})
        except PySparkRuntimeError:
            reason = _read_from(log_path, begin) if log_path is not None else "see above"
            raise SparkDidNotStart(f"Spark's JVM exited before it was ready: {reason}") from None


@contextlib.contextmanager
def _worker_pythonpath() -> Iterator[None]:
    """Set the PYTHONPATH with which workers start sooner (`worker_site`), while the JVM starts."""
    given = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (_WORKER_SITE, given)))
    try:
        yield
    finally:
        if given is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = given


def _read_from(path: str, position: int) -> str:
    with open(path, "rb") as log:
        log.seek(max(position, os.path.getsize(path) - _LOG_TAIL_BYTES))
        return log.read().decode(errors="replace").strip()


def _log_options(log_path: str | None) -> str:
    options = [f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}"]
    if log_path is not None:
        options += ["-Dpenstock.spark.log.appender=file", f"-Dpenstock.spark.log.file={log_path}"]
    return shlex.join(options)  # Spark splits the options as a shell does


def get_or_create_session(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession:
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
