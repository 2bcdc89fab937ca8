"""A broker on a real file system of 24 MB that a real producer fills. It needs the right to mount one in a namespace of
its own, hence `make soak`; `tests/server/test_full_disk.py` has the same on a disk that is simulated.
"""

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cli.conftest import run_command
from tests.support.broker import BrokerProcess, free_port

pytestmark = pytest.mark.soak
SEEN_WITHIN_S = 5.0
ON_A_SMALL_DISK = 'mkdir -p "$0" && mount -t tmpfs -o size=24m tmpfs "$0" && exec "$@"'


class SmallBroker:
    def __init__(self, directory: Path) -> None:
        self.admin_address = f"127.0.0.1:{free_port()}"
        settings = {"penstock.admin.listener": self.admin_address, "log.retention.check.interval.ms": "500"}
        mounting = [
            "unshare",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            ON_A_SMALL_DISK,
            str(directory / "data"),
        ]
        self.process = BrokerProcess(directory, settings=settings, within=mounting)
        self.client = {"bootstrap.servers": self.process.bootstrap}

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://{self.admin_address}{path}", timeout=10) as answer:
            text = answer.read().decode()
            return json.loads(text) if "json" in answer.headers["Content-Type"] else text

    @property
    def log(self) -> str:
        return self.process.log_path.read_text()


def eventually(is_so: Callable[[], bool], within_s: float, what: str) -> None:
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def fill(broker: SmallBroker, topic: str) -> int:
    """Produce until the producer fails; returns the number of acknowledged records."""
    outcomes: list[KafkaError | None] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        outcomes.append(error)

    producer = Producer(broker.client | {"message.timeout.ms": 3000, "linger.ms": 5})
    while not any(outcomes):
        producer.produce(topic, b"v" * 50_000, on_delivery=on_delivery)
        producer.poll(0.001)
    producer.flush(30)
    return sum(error is None for error in outcomes)


def test_a_full_disk_is_reported_everywhere_and_deleting_a_topic_ends_it(
    tmp_path: Path,
) -> None:
    broker = SmallBroker(tmp_path)
    broker.process.start()
    try:
        admin = AdminClient(broker.client)
        for made in admin.create_topics([NewTopic("big", 1, 1), NewTopic("kept", 1, 1)]).values():
            made.result(30)
        acknowledged = fill(broker, "big")
        assert acknowledged > 300
        check_seen(broker)
        check_usable(broker, acknowledged)
        admin.delete_topics(["big"])["big"].result(30)
        eventually(lambda: broker.get("/readyz") == {"status": "ready"}, 15, "healed without a restart")
        assert broker.get("/console/api/troubles") == {"troubles": []}
        producer = Producer(broker.client)
        producer.produce("kept", b"v")
        assert producer.flush(30) == 0
        fill(broker, "kept")
        assert broker.process.terminate() == 0
        assert broker.log.count("Disk full: ") == 1, "not more than once a minute"
        assert broker.log.count("Disk space recovered on ") == 1
        assert "as cleanly stopped" not in broker.log
        assert "cannot write" not in broker.log
        assert "Traceback" not in broker.log
    finally:
        broker.process.stop()


def check_seen(broker: SmallBroker) -> None:
    def is_seen() -> bool:
        return (
            broker.get("/readyz")["status"] == "degraded"
            and "} 1\n" in broker.get("/metrics").partition("\npenstock_log_dir_state{")[2][:200]
            and len(broker.get("/console/api/troubles")["troubles"]) == 1
            and f"Disk full: {broker.process.data_dir} has " in broker.log
        )

    eventually(is_seen, SEEN_WITHIN_S, "the log, /readyz, a metric and the console say so")
    status = run_command("cluster", "status", "--bootstrap-server", broker.process.bootstrap)
    assert "The disk of broker 1 is " in status.stdout


def check_usable(broker: SmallBroker, acknowledged: int) -> None:
    """All acknowledged records are read, and the offset is committed."""
    settings = {"group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer(broker.client | settings)
    consumer.subscribe(["big"])
    count = 0
    while count < acknowledged:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        count += 1
    consumer.commit(asynchronous=False)
    (position,) = consumer.committed([TopicPartition("big", 0)], timeout=30)
    assert position.offset >= acknowledged
    consumer.close()
