"""A broker under attack: whoever behaves is served, memory stays bounded, the process lives.

How fast the good client is meanwhile is printed, not asserted: attacker, broker and client share this machine.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.malicious.attackers import ATTACKS, TOPIC
from tests.support.broker import BrokerProcess

ROOT = Path(__file__).parents[2]
MEMORY_BYTES = 256 * 1024 * 1024
"""What the broker is allowed for the requests, and the same for the answers, of all clients together."""
RESIDENT_BYTES_MAX = 2 * MEMORY_BYTES + 300 * 1024 * 1024
PREY_BYTES = 60 * 1024 * 1024


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"queued.max.request.bytes": str(MEMORY_BYTES)}
    running = BrokerProcess(tmp_path_factory.mktemp("malicious"), settings=settings)
    running.start()
    client = AdminClient({"bootstrap.servers": running.bootstrap})
    for made in client.create_topics([NewTopic(TOPIC, 1), NewTopic("good", 1)]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": running.bootstrap, "batch.size": 900_000})
    for _ in range(PREY_BYTES // 500_000):
        producer.produce(TOPIC, os.urandom(500_000))
        producer.flush()
    yield running
    running.stop()


def good_work(bootstrap: str, seconds: float) -> float:
    """Produce for so long, then read all of it back; gives messages a second."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "acks": "all"})
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "good", "enable.auto.commit": False})
    _, before = consumer.get_watermark_offsets(TopicPartition("good", 0), timeout=30)
    failures: list[str] = []
    sent = 0
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        for _ in range(500):
            producer.produce(
                "good",
                b"%020d" % sent,
                on_delivery=lambda error, _: failures.append(str(error)) if error else None,
            )
            sent += 1
        producer.flush()
    rate = sent / (time.monotonic() - began)
    assert failures == []
    consumer.assign([TopicPartition("good", 0, before)])
    read = 0
    while read < sent:
        for message in consumer.consume(min(10_000, sent - read), 10):
            assert message.value() == b"%020d" % read
            read += 1
    consumer.close()
    return rate


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def under_attack(broker: BrokerProcess, name: str, seconds: float) -> None:
    before = good_work(broker.bootstrap, seconds / 2)
    host, _, port = broker.bootstrap.rpartition(":")
    command = [sys.executable, "-m", "tests.malicious.attackers", host, port, name, str(seconds * 10)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as attacker:
        assert attacker.stdout is not None
        attacker.stdout.readline()
        during = good_work(broker.bootstrap, seconds)
        memory = resident_bytes(broker.pid)
        attacker.send_signal(signal.SIGKILL)
    print(
        f"\n{name}: {during:,.0f} messages/s beside {before:,.0f} in peace ({during / before:.2f}), "
        f"broker at {memory / 1e6:.0f} MB"
    )
    assert memory < RESIDENT_BYTES_MAX
    assert broker.is_running


@pytest.mark.parametrize("name", ATTACKS)
def test_whoever_behaves_is_served_under_attack(broker: BrokerProcess, name: str) -> None:
    under_attack(broker, name, 0.5)


@pytest.mark.soak
@pytest.mark.parametrize("name", ATTACKS)
def test_whoever_behaves_is_served_under_a_long_attack(broker: BrokerProcess, name: str) -> None:
    under_attack(broker, name, 20.0)
