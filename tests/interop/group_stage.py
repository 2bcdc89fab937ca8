"""A topic and a group of their own, for tests of members that come and go."""

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any

from confluent_kafka import ConsumerGroupType, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.interop.groups import KIP_848, Member, Members
from tests.support.broker import BrokerProcess

SESSION_MS = 3000
SETTINGS = {
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "200",
    "group.min.session.timeout.ms": "1000",
}
PARTITIONS = 6
_numbers = itertools.count()


class Stage:
    def __init__(self, broker: BrokerProcess) -> None:
        number = next(_numbers)
        self.broker = broker
        self.members = Members()
        self.topic = f"shared-{number}"
        self.group = f"group-{number}"
        self.produced: list[str] = []
        self.admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        self.create(self.topic, PARTITIONS)
        self._producer = self.producer()

    def producer(self) -> Producer:
        return Producer(
            {"bootstrap.servers": self.broker.bootstrap, "linger.ms": 0, "enable.idempotence": True}
        )

    def create(self, topic: str, partitions: int) -> None:
        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(20)

    def grow(self, partitions: int) -> None:
        self.admin.create_partitions([NewPartitions(self.topic, partitions)])[self.topic].result(20)
        self._producer = self.producer()  # one that does not remember how many there were

    def produce(self, count: int, topic: str | None = None, partitions: int = PARTITIONS) -> None:
        for _ in range(count):
            number = len(self.produced)
            self.produced.append(f"record-{number}")
            value = self.produced[-1].encode()
            self._producer.produce(topic or self.topic, value, partition=number % partitions)
        assert self._producer.flush(30) == 0, self.broker.log_tail()

    @contextlib.contextmanager
    def producing(self) -> Iterator[None]:
        """Produce all the while."""
        stop = threading.Event()

        def keep_producing() -> None:
            while not stop.is_set():
                self.produce(6)
                stop.wait(0.03)

        thread = threading.Thread(target=keep_producing)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def join(self, client: str = KIP_848, **more: Any) -> Member:
        """Start a member, with an even assignor by default."""
        assignor = "range" if client == KIP_848 else "roundrobin"
        given = {"group": self.group, "session_timeout_ms": SESSION_MS, "assignor": assignor, **more}
        return self.members.start(
            client, **{"bootstrap": self.broker.bootstrap, "topic": self.topic, **given}
        )

    def until_shared(self, *members: Member) -> None:
        self.members.until_shared(members, PARTITIONS)

    def until_processed(self) -> None:
        self.members.until_processed(self.produced)

    def group_type(self) -> ConsumerGroupType:
        return self.admin.describe_consumer_groups([self.group])[self.group].result(20).type
