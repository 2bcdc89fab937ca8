"""A message on its way into a topic, and how many of them get there."""

import dataclasses
from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

_ERRORS = 3  # as syslog counts; librdkafka tells more than a demonstration should


@dataclasses.dataclass(frozen=True, slots=True)
class Message:
    topic: str
    value: bytes | None
    key: bytes | None = None


def make_topics(bootstrap_servers: str, partitions: Mapping[str, int]) -> None:
    """Create what is missing."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": _ERRORS})
    known = admin.list_topics(timeout=10).topics
    wanted = [NewTopic(name, count) for name, count in partitions.items() if name not in known]
    for created in admin.create_topics(wanted).values() if wanted else ():
        created.result(30)


def send(bootstrap_servers: str, messages: Iterable[Message]) -> int:
    """Produce all, wait until all are acknowledged, and give their number."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "log_level": _ERRORS,
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": "lz4",
        }
    )
    failures: list[str] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(str(error))

    count = 0
    for message in messages:
        while True:
            try:
                producer.produce(message.topic, message.value, message.key, on_delivery=delivered)
            except BufferError:  # the queue is full: let some of it go out
                producer.poll(0.05)
            else:
                break
        count += 1
        if count % 10_000 == 0:
            producer.poll(0)
    producer.flush(60)
    if failures:
        raise KafkaException(f"{len(failures)} messages were not taken: {failures[0]}")
    return count
