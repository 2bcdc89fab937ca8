"""Topics for the source's tests, filled by librdkafka: not by the code under test."""

import itertools
import os
from collections.abc import Iterable

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as AdminPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from penstock.client.blocking.client import BlockingClient
from penstock.client.settings import ClientSettings

Headers = list[tuple[str, bytes | None]]
_names = itertools.count()


def cluster_of(bootstrap: str, **properties: str) -> BlockingClient:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return BlockingClient(ClientSettings.from_properties({"bootstrap.servers": bootstrap, **named}))


def new_topic(bootstrap: str, partitions: int = 1, name: str | None = None, **configs: str) -> str:
    """A topic that no other test has, and that no restarted test process takes for its own."""
    name = name or f"source-{os.getpid()}-{next(_names)}"
    named = {key.replace("_", "."): value for key, value in configs.items()}
    cluster = cluster_of(bootstrap)
    assert cluster.create_topic(name, partitions=partitions, configs=named)
    cluster.close()
    return name


def produce(
    bootstrap: str,
    topic: str,
    values: Iterable[bytes | None],
    *,
    partition: int = 0,
    key: bytes | None = None,
    headers: Headers | None = None,
    timestamp: int = 0,
    **settings: str | int,
) -> None:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **named})
    failures: list[object] = []
    for value in values:
        producer.produce(
            topic,
            value,
            key=key,
            partition=partition,
            timestamp=timestamp,
            headers=headers or [],
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
    assert producer.flush(30) == 0
    assert failures == []


def transact(bootstrap: str, topic: str, values: Iterable[bytes], *, commits: bool, name: str = "t") -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-{name}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0
    if commits:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def delete_records(bootstrap: str, topic: str, before: int, partition: int = 0) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_records([AdminPartition(topic, partition, before)]).values():
        deleted.result(30)


def add_partitions(bootstrap: str, topic: str, total: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for added in admin.create_partitions([NewPartitions(topic, total)]).values():
        added.result(30)


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_topics([topic]).values():
        deleted.result(30)
