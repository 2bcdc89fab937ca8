"""Topic to table with the driver, its Python workers or the broker killed at random: each record is there once."""

import contextlib
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal

import pytest

from penstock.spark.lake.formats import TABLE_FORMATS, open_table
from tests.crash.killing import chosen_seed
from tests.spark.lake.support import ids
from tests.spark.source.topics import new_topic, produce
from tests.support.broker import BrokerProcess

pytestmark = pytest.mark.xdist_group("spark")

Victim = Literal["driver", "worker", "broker"]

RECORDS_EACH_TIME = 160
PARTITIONS = 2
LINE_TIMEOUT_S = 240.0  # a JVM that starts on a busy machine
FINISH_TIMEOUT_S = 400.0
STARTS_MAX = 5


class Driver:
    """The driver in a session of its own, by which all the processes it starts are found."""

    def __init__(
        self,
        broker: BrokerProcess,
        topic: str,
        directory: Path,
        *flags: str,
        module: str = "tests.spark.lake.driver",
    ) -> None:
        self._log = directory / "driver.log"
        command = [
            sys.executable,
            "-m",
            module,
            broker.bootstrap,
            topic,
            str(directory),
            *flags,
        ]
        with self._log.open("a") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    def _read(self, stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                self._lines.put(line)
        self._lines.put(None)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def await_batches(self, count: int) -> bool:
        """Wait until some batches are done; false where the driver ended before."""
        while count:
            line = self._lines.get(timeout=LINE_TIMEOUT_S)
            if line is None:
                return False
            count -= line.startswith("batch")
        return True

    def await_end(self, timeout_s: float) -> bool:
        """Wait until the driver has ended; whether it ended well."""
        return self._process.wait(timeout_s) == 0

    def log_tail(self) -> str:
        return self._log.read_text()[-4000:]

    def processes(self) -> Iterator[tuple[int, str]]:
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and os.getsid(int(name)) == self._process.pid:
                    yield int(name), Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode()

    def kill(self) -> None:
        """All of it at once, as when the machine loses power."""
        while found := [pid for pid, _ in self.processes() if pid != self._process.pid or self.is_running]:
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.poll()
        self._process.wait()

    def kill_a_worker(self, chance: random.Random) -> None:
        workers = [pid for pid, command in self.processes() if "pyspark" in command and "daemon" in command]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(workers), signal.SIGKILL)


def run_with_kills(broker: BrokerProcess, directory: Path, victim: Victim, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    topic = new_topic(broker.bootstrap, partitions=PARTITIONS)
    drivers: list[Driver] = []
    expected = 0

    def start(*flags: str) -> Driver:
        drivers.append(Driver(broker, topic, directory, *flags))
        return drivers[-1]

    try:
        for _ in range(kills):
            values = [str(expected + at).encode() for at in range(RECORDS_EACH_TIME)]
            for partition in range(PARTITIONS):
                produce(broker.bootstrap, topic, values[partition::PARTITIONS], partition=partition)
            expected += RECORDS_EACH_TIME
            driver = driver_with_batches(drivers[-1] if drivers else start(), start, chance.randint(1, 6))
            time.sleep(chance.uniform(0, 0.5))  # the moment is what is drawn
            strike(victim, driver, broker, chance)
        drivers[-1].kill()
        finish(start)
    finally:
        for each in drivers:
            each.kill()
    for table_format in TABLE_FORMATS:
        found = ids(open_table(str(directory / "tables" / table_format)))
        assert found == list(range(expected)), f"{table_format}: {len(found)} rows of {expected}"


def driver_with_batches(driver: Driver, start: Callable[[], Driver], batches: int) -> Driver:
    """A driver that did so many batches. One that has ended, as by a kill, is followed by another."""
    for _ in range(STARTS_MAX):
        if driver.is_running and driver.await_batches(batches):
            return driver
        driver.kill()
        driver = start()
    raise AssertionError(driver.log_tail())


def finish(start: Callable[[str], Driver], timeout_s: float = FINISH_TIMEOUT_S) -> None:
    """Let what is in the topic come into the tables."""
    for _ in range(STARTS_MAX):
        driver = start("--once")
        if driver.await_end(timeout_s):
            return
    raise AssertionError(driver.log_tail())


def strike(victim: Victim, driver: Driver, broker: BrokerProcess, chance: random.Random) -> None:
    if victim == "driver":
        driver.kill()
    elif victim == "worker":
        driver.kill_a_worker(chance)
    else:
        broker.kill()
        broker.start()


@pytest.fixture
def seed(record_property: Callable[[str, object], None]) -> int:
    chosen = chosen_seed()
    record_property("crash", f"seed {chosen}")
    return chosen


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_records_are_in_each_table_once_though_the_driver_is_killed(
    own_broker: BrokerProcess, tmp_path: Path, seed: int
) -> None:
    run_with_kills(own_broker, tmp_path, "driver", 1, seed)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victim", ["driver", "worker", "broker"])
def test_records_are_in_each_table_once_after_many_kills(
    own_broker: BrokerProcess, tmp_path: Path, seed: int, victim: Victim
) -> None:
    run_with_kills(own_broker, tmp_path, victim, 20, seed)
