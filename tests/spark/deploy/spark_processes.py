"""Spark's own server processes, from the installed package: a standalone master, its workers, a Connect server.

They listen on loopback only, keep all files below one directory, and are ended by their own ids.
"""

import contextlib
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Self

import pyspark

from penstock.spark import worker_site
from penstock.spark.class_archive import archive_options, archive_path
from penstock.spark.java import bundled_java_home, cache_directory, find_java

_READY_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 20.0
_BIN = Path(pyspark.__file__).parent / "bin"
_CACHE = cache_directory(os.environ)
_JAVA = find_java(os.environ, _CACHE, bundled_java_home())
SMALL_JVM = " ".join(
    ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *archive_options(archive_path(_JAVA, _CACHE)))
)
_DAEMON = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": SMALL_JVM}

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


class SparkProcess:
    """One process; ready when a line of its output matches."""

    def __init__(self, command: Sequence[str], directory: Path, ready: str, more: Mapping[str, str]) -> None:
        directory.mkdir(parents=True)
        self.log_path = directory / "log"
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=_environment(directory) | dict(more),
        )
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
        self.ready = self._await(re.compile(ready))

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _read(self, output: IO[str]) -> None:
        with output, self.log_path.open("w") as log:
            for line in output:
                log.write(line)
                log.flush()
                self._lines.put(line)
        self._lines.put(None)

    def _await(self, ready: re.Pattern[str]) -> re.Match[str]:
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                self.stop()
                raise AssertionError(f"Spark did not start:\n{self.log_path.read_text()[-4000:]}")
            found = ready.search(line)
            if found is not None:
                return found


@contextlib.contextmanager
def standalone_cluster(directory: Path, workers: int = 2) -> Iterator[str]:
    """A master and workers of one core each; gives the master's URL."""
    with contextlib.ExitStack() as running:
        master = SparkProcess(
            [*_spark_class(_MASTER), "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"],
            directory / "master",
            r"Starting Spark master at (spark://\S+)",
            _DAEMON,
        )
        running.enter_context(master)
        url = master.ready[1]
        for number in range(workers):
            place = directory / f"worker-{number}"
            command = [*_spark_class(_WORKER), "--host", "127.0.0.1", "--webui-port", "0"]
            command += ["--cores", "1", "--memory", "1g", "--work-dir", str(place / "work"), url]
            running.enter_context(
                SparkProcess(command, place, r"Successfully registered with master", _DAEMON)
            )
        yield url


@contextlib.contextmanager
def connect_server(directory: Path, port: int) -> Iterator[str]:
    """A Connect server with a local Spark of two cores; gives its URL."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraJavaOptions": SMALL_JVM,
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    command = [str(_BIN / "spark-submit"), "--master", "local[2]", "--class", _CONNECT]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    # As an administrator starts it: workers run the Python that has penstock installed.
    python = {"PYSPARK_PYTHON": sys.executable}
    ready = r"Spark Connect server started at"
    with SparkProcess([*command, "spark-internal"], directory / "connect", ready, python):
        yield f"sc://127.0.0.1:{port}"


def _spark_class(name: str) -> list[str]:
    return [str(_BIN / "spark-class"), name]


def _environment(directory: Path) -> dict[str, str]:
    """Nothing of the test's own environment tells Spark where Python is: that is what is tested.

    The path is there for speed alone: workers start sooner.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
    return kept | {
        "JAVA_HOME": _JAVA.home,
        "PYTHONPATH": os.path.dirname(worker_site.__file__),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(directory / "local"),
    }
