"""Kill a broker repeatedly at moments drawn from a seed, and report how long the starts took."""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.broker import BrokerProcess

UP_S_MAX = 0.5
IMPATIENT = 0.2  # the share of kills that hit a broker before its clients found it again
PROGRESS_TIMEOUT_S = 30.0
KILLED_WHILE_STARTING = 0.2  # the share of kills that hit a broker before it is ready
READ_TIMEOUT_S = 60.0

Report = Callable[[str, object], None]


def chosen_seed() -> int:
    """A new one each time, or CRASH_SEED to repeat a failure."""
    return int(os.environ.get("CRASH_SEED", random.SystemRandom().randrange(1 << 32)))


def soak_seconds() -> float:
    return float(os.environ.get("SOAK_SECONDS", "60"))


class Load(Protocol):
    """A load on the broker while it is killed."""

    @property
    def done_count(self) -> int:
        """The number of acknowledged operations so far."""
        ...


class Killer:
    """Kills and restarts a broker, which runs again when `kill_times` or `kill_for` return."""

    def __init__(self, broker: BrokerProcess, seed: int) -> None:
        self.kills = 0
        self._broker = broker
        self._random = random.Random(seed)

    def kill_times(self, count: int, *loads: Load) -> None:
        while self.kills < count:
            self._kill_once(loads)

    def kill_for(self, duration_s: float, *loads: Load) -> None:
        deadline = time.monotonic() + duration_s
        while time.monotonic() < deadline:
            self._kill_once(loads)

    def _kill_once(self, loads: tuple[Load, ...]) -> None:
        if self._random.random() >= IMPATIENT:
            self._await_progress(loads)
        time.sleep(self._random.uniform(0, UP_S_MAX))  # a random moment: there is no event to wait for
        self._broker.kill()
        self.kills += 1
        while self._random.random() < KILLED_WHILE_STARTING:
            self._broker.launch()
            time.sleep(self._random.uniform(0, 0.4))
            self._broker.kill()
            self.kills += 1
        self._broker.start()

    def _await_progress(self, loads: tuple[Load, ...]) -> None:
        """A crash under load needs the load to have recovered from the last one."""
        before = [load.done_count for load in loads]
        deadline = time.monotonic() + PROGRESS_TIMEOUT_S
        while any(load.done_count == count for load, count in zip(loads, before, strict=True)):
            assert time.monotonic() < deadline, f"nothing was acknowledged for {PROGRESS_TIMEOUT_S} s"
            time.sleep(0.005)

    def report(self, say: Report, seed: int) -> None:
        """Add the run to the summary of the tests."""
        starts = self._broker.start_durations_s[1:]
        if not starts:  # the test failed before the first kill
            return
        say(
            "crash",
            f"{self.kills} kills, {len(starts)} starts after one: median {statistics.median(starts):.2f} s, "
            f"longest {max(starts):.2f} s (most CPU {max(self._broker.start_cpu_s[1:]):.2f} s), CRASH_SEED={seed}",
        )


def create_topic(broker: BrokerProcess, topic: str, partitions: int, config: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    (future,) = admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values()
    future.result(30)


def await_retention(broker: BrokerProcess, topic: str, partition: int) -> None:
    """Wait until nothing more is deleted, with a retention that looks every 50 ms."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "not-joined"})
    try:
        starts = [-2, -1]
        while starts[-1] != starts[-2]:
            time.sleep(0.5)
            partition_of = TopicPartition(topic, partition, 0)
            starts.append(consumer.get_watermark_offsets(partition_of, timeout=READ_TIMEOUT_S)[0])
    finally:
        consumer.close()


def read_all(broker: BrokerProcess, topic: str, partition: int) -> dict[int, bytes | None]:
    """Every record of a partition by its offset, with the client checking each batch's CRC."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "not-joined",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    try:
        assigned = TopicPartition(topic, partition, 0)
        low, high = consumer.get_watermark_offsets(assigned, timeout=READ_TIMEOUT_S)
        consumer.assign([TopicPartition(topic, partition, low)])
        found: dict[int, bytes | None] = {}
        position = low
        deadline = time.monotonic() + READ_TIMEOUT_S
        while position < high and time.monotonic() < deadline:
            for message in consumer.consume(10_000, 1.0):
                if message.error():
                    raise KafkaException(message.error())
                assert message.offset() not in found, "one offset, one record"
                found[message.offset()] = message.value()
            position = consumer.position([assigned])[0].offset
            if position < 0:
                position = low
        assert position >= high, f"{topic}-{partition} was read up to {position} of {high} only"
        return found
    finally:
        consumer.close()


def verify_data(broker: BrokerProcess) -> None:
    """Stop the broker and run `penstock log verify` over its data."""
    assert broker.terminate() == 0
    done = subprocess.run(
        [sys.executable, "-m", "penstock.cli.main", "log", "verify", str(broker.data_dir)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
