"""A topic and a share group of their own, and members that acknowledge as the test asks."""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import AcknowledgeType, Consumer, Message, Producer, ShareConsumer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

PATIENCE_S = 30.0
SETTINGS = {
    # A group may set short timeouts, and is ready soon after its first member has joined.
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    # As many replicas as one node can have.
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # A short interval of the cleaner.
    "log.cleaner.backoff.ms": "200",
}
_POLL_S = 0.1
_numbers = itertools.count()

Delivery = tuple[int, int]
"""An offset, and how often its record has been delivered."""


class ShareMember:
    """A share consumer that acknowledges each record by itself."""

    def __init__(self, bootstrap: str, group: str, topic: str, **settings: Any) -> None:
        self._consumer = ShareConsumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "share.acknowledgement.mode": "explicit",
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        self._consumer.subscribe([topic])
        self.held: list[Message] = []

    def hold(self) -> list[Delivery]:
        """Wait for records, and return them; they are acquired by this member until it acknowledges them."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.held:
            assert time.monotonic() < deadline, "no record came"
            self.held = self._polled()
        return deliveries(self.held)

    def glance(self) -> list[Delivery]:
        """Acquire the records that arrive within a moment, if any."""
        self.held = self._polled()
        return deliveries(self.held)

    def _polled(self) -> list[Message]:
        records = list(self._consumer.poll(_POLL_S))
        assert [each.error() for each in records if each.error() is not None] == []
        return records

    def decide(self, *offsets: int, how: AcknowledgeType = AcknowledgeType.ACCEPT) -> set[str]:
        """Acknowledge these, or all acquired records, and return the errors."""
        chosen = [each for each in self.held if not offsets or each.offset() in offsets]
        for each in chosen:
            self._consumer.acknowledge(each, how)
        self.held = [each for each in self.held if each not in chosen]
        outcome = self._consumer.commit_sync(PATIENCE_S)
        return {error.args[0].name() for error in outcome.values() if error is not None}

    def take(self, count: int, how: AcknowledgeType = AcknowledgeType.ACCEPT) -> list[Delivery]:
        """Acquire `count` records and acknowledge each in this way."""
        taken: list[Delivery] = []
        while len(taken) < count:
            taken += self.hold()
            assert self.decide(how=how) == set()
        return taken

    def close(self) -> None:
        self._consumer.close()


class ShareStage:
    def __init__(self, bootstrap: str, partitions: int = 1, **topic_settings: str) -> None:
        """Without partitions the topic is created later."""
        number = next(_numbers)
        self.topic = f"queue-{number}"
        self.group = f"workers-{number}"
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        if partitions:
            self.create(partitions, **topic_settings)
        self._members: list[ShareMember] = []
        self.configure(share_auto_offset_reset="earliest")

    def create(self, partitions: int = 1, **settings: str) -> None:
        config = {name.replace("_", "."): value for name, value in settings.items()}
        topic = NewTopic(self.topic, partitions, -1, config=config)
        self._admin.create_topics([topic])[self.topic].result(PATIENCE_S)

    def grow(self, partitions: int) -> None:
        wanted = NewPartitions(self.topic, partitions)
        self._admin.create_partitions([wanted])[self.topic].result(PATIENCE_S)

    def configure(self, **settings: str) -> None:
        """Set settings of the group."""
        entries = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, self.group, incremental_configs=entries)
        self._admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def produce(
        self,
        values: Iterable[str],
        *,
        batch: int = 10_000,
        partition: int = 0,
        timestamp_ms: int = 0,
        **settings: Any,
    ) -> None:
        """Records of now, unless a time is given."""
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "linger.ms": 50,
                "log_level": 0,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        for number, value in enumerate(values, 1):
            producer.produce(
                self.topic, value.encode(), key=value.encode(), partition=partition, timestamp=timestamp_ms
            )
            if number % batch == 0:  # however slow the machine is, a batch ends here
                assert producer.flush(PATIENCE_S) == 0
        assert producer.flush(PATIENCE_S) == 0

    def transact(self, outcomes: Mapping[str, bool]) -> None:
        """Write each in a transaction of its own, and commit or abort that."""
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "transactional.id": self.topic, "log_level": 0}
        )
        producer.init_transactions(PATIENCE_S)
        for value, is_committed in outcomes.items():
            producer.begin_transaction()
            producer.produce(self.topic, value.encode(), partition=0)
            if is_committed:
                producer.commit_transaction(PATIENCE_S)
            else:
                producer.flush(PATIENCE_S)  # or it would never be sent
                producer.abort_transaction(PATIENCE_S)

    def readable_offsets(self) -> list[int]:
        """The offsets that an ordinary consumer finds."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "nobody",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        offsets = []
        while (record := consumer.poll(PATIENCE_S)) is not None and record.error() is None:
            offsets.append(record.offset())
        consumer.close()
        return offsets

    def join(self, group: str | None = None, **settings: Any) -> ShareMember:
        member = ShareMember(self._bootstrap, group or self.group, self.topic, **settings)
        self._members.append(member)
        return member

    def leave(self, member: ShareMember) -> None:
        self._members.remove(member)
        member.close()

    def close(self) -> None:
        for member in self._members:
            member.close()


def numbered(count: int, first: int = 0) -> list[str]:
    return [f"record-{number}" for number in range(first, first + count)]


def deliveries(records: Iterable[Message]) -> list[Delivery]:
    return [(record.offset(), record.delivery_count()) for record in records]


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.02)
