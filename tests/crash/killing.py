"""Kill a broker again and again at moments that a seed chooses, and tell what the starts took."""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.support.broker import BrokerProcess

UP_S_MAX = 0.6
KILLED_WHILE_STARTING = 0.2  # the share of kills that hit a broker before it is ready
READ_TIMEOUT_S = 60.0

Report = Callable[[str, object], None]


def chosen_seed() -> int:
    """A new one each time, or CRASH_SEED to see a failure again."""
    return int(os.environ.get("CRASH_SEED", random.SystemRandom().randrange(1 << 32)))


def soak_seconds() -> float:
    return float(os.environ.get("SOAK_SECONDS", "60"))


class Killer:
    """Brings a started broker down and up; it is up again when `kill_times` or `kill_for` return."""

    def __init__(self, broker: BrokerProcess, seed: int) -> None:
        self.kills = 0
        self._broker = broker
        self._random = random.Random(seed)

    def kill_times(self, count: int) -> None:
        while self.kills < count:
            self._kill_once()

    def kill_for(self, duration_s: float) -> None:
        deadline = time.monotonic() + duration_s
        while time.monotonic() < deadline:
            self._kill_once()

    def _kill_once(self) -> None:
        time.sleep(self._random.uniform(0, UP_S_MAX))  # the crash comes when it comes: nothing to wait for
        self._broker.kill()
        self.kills += 1
        while self._random.random() < KILLED_WHILE_STARTING:
            self._broker.launch()
            time.sleep(self._random.uniform(0, 0.4))
            self._broker.kill()
            self.kills += 1
        self._broker.start()

    def report(self, say: Report, seed: int) -> None:
        """Make the run known in the summary of the tests."""
        starts = self._broker.start_durations_s[1:]
        say(
            "crash",
            f"{self.kills} kills, {len(starts)} starts after one: median {statistics.median(starts):.2f} s, "
            f"longest {max(starts):.2f} s, CRASH_SEED={seed}",
        )


def read_all(broker: BrokerProcess, topic: str, partition: int) -> dict[int, bytes]:
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
        found: dict[int, bytes] = {}
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
    """Stop the broker and let `penstock log verify` read every byte it left."""
    assert broker.terminate() == 0
    done = subprocess.run(
        [sys.executable, "-m", "penstock.cli.main", "log", "verify", str(broker.data_dir)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
