"""Drivers, workers and brokers are killed at random while a topic is copied: every row appears exactly once.

The driver is a process of its own, with its JVM and its Python workers in one session. Killing only the driver's Python
leaves a JVM that goes on for a moment, as a lost driver on a cluster would.
"""

import contextlib
import os
import queue
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.blocking.client import BlockingClient
from penstock.spark.options import Options
from penstock.spark.sink.transactions import BrokerTransactions
from tests.spark.sink.live import committed_rows, write_rows
from tests.support.broker import BrokerProcess

SEED = int(os.environ.get("KILL_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
LINE_TIMEOUT_S = 240.0  # a machine may be busy with other tests
ROWS_PER_KILL = 150
WORKERS = (b"pyspark.worker\0", b"python_streaming_sink_runner\0")  # tasks, and the driver's commits

pytestmark = pytest.mark.xdist_group("spark")  # one JVM at a time


class Driver:
    """A driver process; only processes of its own session are ever signalled."""

    def __init__(self, broker: BrokerProcess, checkpoint: Path, log: Path, how: str) -> None:
        command = [sys.executable, "-m", "tests.spark.sink.kill_driver"]
        command += [broker.bootstrap, "in", "out", str(checkpoint), how]
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
            )
        self._log = log
        self.is_wounded = False
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put("ended")

    def until(self, wanted: str) -> bool:
        """Wait for a line that begins so. False: the driver gave up after what was done to it, and must be started."""
        while True:
            line = self._lines.get(timeout=LINE_TIMEOUT_S)
            if line.startswith(wanted):
                return True
            if line == "ended":
                assert self.is_wounded, f"the driver ended by itself:\n{self._log.read_text()[-4000:]}"
                return False

    def kill_all(self) -> None:
        for pid in self._session():
            _kill(pid)
        self._process.wait(LINE_TIMEOUT_S)

    def kill_python_only(self) -> None:
        self._process.kill()
        self._process.wait(LINE_TIMEOUT_S)

    def kill_worker(self, chance: random.Random) -> None:
        """Kill a Python process. One that ran a task is replaced; one that was committing ends the query."""
        workers = [pid for pid in self._session() if _command(pid).endswith(WORKERS)]
        assert workers, "Spark keeps its workers"
        self.is_wounded = True
        _kill(chance.choice(workers))

    def _session(self) -> list[int]:
        """The driver, its JVM and its workers; Spark gives the workers a process group, so that does not tell."""
        pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in pids if _session_of(pid) == self._process.pid]


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


class Copying:
    """A topic that is being copied while things die."""

    def __init__(self, broker: BrokerProcess, directory: Path) -> None:
        self.broker = broker
        self.chance = random.Random(SEED)
        self._checkpoint = directory / "checkpoint"
        self._log = directory / "driver.log"
        self._cluster = BlockingClient(
            Options({"kafka.bootstrap.servers": broker.bootstrap}).client_settings()
        )
        self.driver: Driver | None = None
        self._rows = 0

    def feed(self, count: int = ROWS_PER_KILL) -> None:
        write_rows(self._cluster, self.broker.bootstrap, "in", range(self._rows, self._rows + count))
        self._rows += count

    def start(self, how: str = "follow") -> Driver:
        self.driver = Driver(self.broker, self._checkpoint, self._log, how)
        return self.driver

    def die(self, what: str) -> None:
        """Let something die at a random moment while rows are on their way."""
        self.feed()
        driver = self.driver or self.start()
        while not driver.until("batch"):
            driver.kill_all()
            driver = self.start()
        threading.Event().wait(self.chance.random() * 0.6)
        if what == "broker":
            self.broker.kill()
            self.broker.start()
        elif what == "worker":
            driver.kill_worker(self.chance)
        elif what == "driver":
            driver.kill_python_only()
            threading.Event().wait(self.chance.random() * 0.3)  # its JVM is a driver that nobody knows of
            driver.kill_all()
            self.driver = None
        else:
            driver.kill_all()
            self.driver = None

    def check(self) -> None:
        """Let a last driver get to the end, and count."""
        if self.driver is not None:
            self.driver.kill_all()
        self.feed()
        assert self.start("once").until("done")
        rows = sorted(committed_rows(self.broker.bootstrap, "out"))
        missing = sorted(set(range(self._rows)) - set(rows))
        assert not missing, f"{len(missing)} rows are missing, the first is {missing[0]}; KILL_SEED={SEED}"
        assert len(rows) == self._rows, f"{len(rows) - self._rows} rows came twice; KILL_SEED={SEED}"
        queries = {path.read_text() for path in self._checkpoint.glob("metadata")}
        assert len(queries) == 1
        query_id = queries.pop().split('"id":"')[1].split('"')[0]
        assert BrokerTransactions(self._cluster).open_transactional_ids(query_id) == []

    def close(self) -> None:
        if self.driver is not None:
            self.driver.kill_all()
        self._cluster.close()

    def create_topics(self) -> None:
        for topic in ("in", "out"):
            self._cluster.create_topic(topic, partitions=2)


@pytest.fixture
def copying(own_broker: BrokerProcess, tmp_path: Path) -> Iterator[Copying]:
    copying = Copying(own_broker, tmp_path)
    copying.create_topics()
    yield copying
    copying.close()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_every_row_is_copied_once_while_driver_worker_and_broker_die(copying: Copying) -> None:
    for what in ("worker", "broker", "everything of the driver"):
        copying.die(what)
    copying.check()


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_row_is_copied_once_over_many_deaths(copying: Copying) -> None:
    kinds = ["worker", "worker", "broker", "broker", "driver", "everything of the driver"] * 10
    copying.chance.shuffle(kinds)
    for what in kinds:
        copying.die(what)
    copying.check()
