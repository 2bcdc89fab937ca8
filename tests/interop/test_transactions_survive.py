"""Transactions through timeouts, restarts and kills of the broker, of the client, and of both in turn."""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.crash.killing import chosen_seed
from tests.interop.clients.confluent import ConfluentAdmin
from tests.interop.transactional import Fenced, end_offsets, open_producer, read
from tests.support.broker import BrokerProcess

NAMES = ["confluent-kafka", "aiokafka", "kafka-python", "kafkajs"]
PARTITIONS = 2
LOOP_TIMEOUT_S = 60.0


@pytest.fixture
def quick_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """A broker that checks transaction timeouts often."""
    broker = BrokerProcess(
        tmp_path, settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
    )
    try:
        yield broker.start()
    finally:
        broker.stop()


def wait_until_decided(bootstrap: str, topic: str) -> None:
    """Until no open transaction holds readers back."""
    deadline = time.monotonic() + 30
    while True:
        everything, committed = end_offsets(bootstrap, topic, 0)
        if everything == committed:
            return
        assert time.monotonic() < deadline, "a transaction hangs"
        time.sleep(0.05)  # a client is not notified of the end of a transaction


@pytest.mark.parametrize("name", NAMES)
def test_a_transaction_that_times_out_is_aborted_and_its_producer_fenced(
    name: str, quick_broker: BrokerProcess
) -> None:
    ConfluentAdmin(quick_broker.bootstrap).create_topic("late", 1, {})
    producer = open_producer(name, quick_broker.bootstrap, "slow", timeout_ms=1000)
    producer.begin()
    producer.send("late", b"too late", 0)
    wait_until_decided(quick_broker.bootstrap, "late")
    with pytest.raises(Fenced):
        producer.commit()
    heir = open_producer(name, quick_broker.bootstrap, "slow", timeout_ms=60_000)
    heir.begin()
    heir.send("late", b"in time", 0)
    heir.commit()
    assert read("confluent-kafka", quick_broker.bootstrap, "late", 1, committed=True) == [b"in time"]
    heir.close()
    producer.close()


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "restarted"])
def test_an_open_transaction_survives_a_restart_of_the_broker(
    own_broker: BrokerProcess, is_killed: bool
) -> None:
    ConfluentAdmin(own_broker.bootstrap).create_topic("open", PARTITIONS, {})
    producer = open_producer("confluent-kafka", own_broker.bootstrap, "patient")
    other = open_producer("confluent-kafka", own_broker.bootstrap, "gone")
    other.begin()
    other.send("open", b"abandoned", 0)
    producer.begin()
    producer.send("open", b"before", 0)
    if is_killed:
        own_broker.kill()
    else:
        own_broker.terminate()
    own_broker.start()
    producer.send("open", b"after", 1)
    producer.commit()
    heir = open_producer("confluent-kafka", own_broker.bootstrap, "gone")
    wait_until_decided(own_broker.bootstrap, "open")
    found = read("confluent-kafka", own_broker.bootstrap, "open", 2, committed=True)
    assert found == [b"after", b"before"]
    for each in (producer, other, heir):
        each.close()


class Loop:
    """The loop's process, restarted whenever it has ended."""

    def __init__(self, bootstrap: str) -> None:
        self._command = [
            *(sys.executable, "-m", "tests.interop.transform_loop"),
            *(bootstrap, "input", "output", "transformers", "transformer"),
        ]
        self.starts = 0
        self._start()

    def _start(self) -> None:
        self.starts += 1
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()
        self._start()

    def restart_if_ended(self) -> bool:
        """Whether it has come to its end; a loop that failed, as any client may when its broker dies, is restarted."""
        code = self._process.poll()
        if code is None:
            return True
        self._close()
        if code == 0:
            return False
        self._start()
        return True

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.close()


def feed(bootstrap: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    for number in numbers:
        producer.produce("input", b"record-%d" % number, partition=number % PARTITIONS)
    assert producer.flush(LOOP_TIMEOUT_S) == 0


def run_and_kill(broker: BrokerProcess, kill_count: int, seed: int) -> int:
    """Kill the client and the broker in turn while the loop works; gives how many records there were."""
    chance = random.Random(seed)
    fed = 0
    loop = Loop(broker.bootstrap)
    try:
        for number in range(kill_count):
            more = chance.randrange(50, 200)
            feed(broker.bootstrap, range(fed, fed + more))
            fed += more
            time.sleep(chance.uniform(0.0, 1.0))  # a random moment: there is no event to wait for
            loop.restart_if_ended()
            if number % 2:
                loop.kill()
            else:
                broker.kill()
                broker.start()
        producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        for partition in range(PARTITIONS):
            producer.produce("input", b"stop", partition=partition)
        assert producer.flush(LOOP_TIMEOUT_S) == 0
        deadline = time.monotonic() + LOOP_TIMEOUT_S
        while loop.restart_if_ended():
            assert time.monotonic() < deadline, f"the loop does not come to its end, CRASH_SEED={seed}"
            time.sleep(0.05)
    finally:
        loop.end()
    return fed


def check_exactly_once(broker: BrokerProcess, fed: int, seed: int) -> None:
    wait_until_decided(broker.bootstrap, "output")
    found = Counter(read("confluent-kafka", broker.bootstrap, "output", fed, committed=True))
    expected = Counter(b"RECORD-%d" % number for number in range(fed))
    assert found == expected, f"CRASH_SEED={seed}, {found - expected} {expected - found}"


def exactly_once(broker: BrokerProcess, kill_count: int) -> None:
    seed = chosen_seed()
    admin = ConfluentAdmin(broker.bootstrap)
    admin.create_topic("input", PARTITIONS, {})
    admin.create_topic("output", PARTITIONS, {})
    check_exactly_once(broker, run_and_kill(broker, kill_count, seed), seed)


def test_each_input_becomes_one_output_while_client_and_broker_are_killed_in_turn(
    own_broker: BrokerProcess,
) -> None:
    exactly_once(own_broker, 6)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_each_input_becomes_one_output_through_fifty_kills(own_broker: BrokerProcess) -> None:
    exactly_once(own_broker, int(os.environ.get("SOAK_KILLS", "50")))
