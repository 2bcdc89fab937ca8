"""A real broker under load, killed with SIGKILL at any moment: no acknowledged record is lost or duplicated."""

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.crash.idempotent_producer import IdempotentProducer
from tests.crash.killing import Killer, create_topic, read_all, soak_seconds, verify_data
from tests.crash.raw_producer import RawProducer
from tests.support.broker import BrokerProcess

KILLS = 12  # `make soak` runs for minutes
PARTITIONS = 3
ROLLING = {"segment.records": "500", "segment.bytes": "1048576"}


def _survive_as_idempotent_producer(broker: BrokerProcess, kill: Callable[..., None]) -> None:
    create_topic(broker, "ledger", PARTITIONS, ROLLING)
    load = IdempotentProducer(broker.bootstrap, "ledger", PARTITIONS)
    load.start()
    kill(load)
    load.finish()
    for partition, sent in load.sent.items():
        stored = read_all(broker, "ledger", partition)
        assert list(stored) == list(range(len(sent))), "offsets without a gap"
        assert list(stored.values()) == sent, "each record once, in the order it was sent"
        assert load.acknowledged[partition].items() <= stored.items()
    verify_data(broker)


def _survive_as_raw_producers(broker: BrokerProcess, kill: Callable[..., None]) -> None:
    create_topic(broker, "raw", PARTITIONS, ROLLING)
    loads = [RawProducer(broker.port, "raw", partition, 1 + 9 * partition) for partition in range(PARTITIONS)]
    for load in loads:
        load.start()
    kill(*loads)
    for partition, load in enumerate(loads):
        load.enough.set()
        load.join(30)
        assert not load.is_alive()
        stored = read_all(broker, "raw", partition)
        assert list(stored) == list(range(len(stored))), "offsets without a gap"
        assert load.acknowledged.items() <= stored.items(), (
            "acknowledged records are at their reported offsets"
        )
        numbers = [int(value.split(b"-")[1]) for value in stored.values() if value is not None]
        assert numbers == sorted(set(numbers)), "in the order it was sent, nothing twice"
        assert set(stored.values()) <= set(load.acknowledged.values()) | set(load.unknown)
        assert load.acknowledged, "some records were acknowledged"
    verify_data(broker)


@pytest.mark.timeout(240)
def test_records_of_an_idempotent_producer_are_neither_lost_nor_duplicated(
    broker: BrokerProcess, killer: Killer
) -> None:
    _survive_as_idempotent_producer(broker, partial(killer.kill_times, KILLS))


@pytest.mark.timeout(240)
def test_acknowledged_records_of_a_raw_producer_are_kept(broker: BrokerProcess, killer: Killer) -> None:
    _survive_as_raw_producers(broker, partial(killer.kill_times, KILLS))


@pytest.mark.soak
def test_an_idempotent_producer_survives_a_long_time_of_kills(broker: BrokerProcess, killer: Killer) -> None:
    _survive_as_idempotent_producer(broker, partial(killer.kill_for, soak_seconds()))


@pytest.mark.soak
def test_raw_producers_survive_a_long_time_of_kills(broker: BrokerProcess, killer: Killer) -> None:
    _survive_as_raw_producers(broker, partial(killer.kill_for, soak_seconds()))


class TopicChurn(threading.Thread):
    """Creates and deletes topics, and remembers the acknowledged changes."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True, name="topic-churn")
        self.enough = threading.Event()
        self.present: set[str] = set()
        self.absent: set[str] = set()
        self._admin = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "log_level": 0,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
            }
        )

    @property
    def done_count(self) -> int:
        return len(self.present) + len(self.absent)

    def run(self) -> None:
        number = 0
        while not self.enough.is_set():
            number += 1
            name = f"churn-{number}"
            if self._is_done(self._admin.create_topics([NewTopic(name, 2, 1)], request_timeout=2)):
                self.present.add(name)
            if number % 2 and name in self.present:
                self.present.discard(name)
                if self._is_done(self._admin.delete_topics([name], request_timeout=2)):
                    self.absent.add(name)

    def _is_done(self, futures: Mapping[str, Any]) -> bool:
        """Whether the broker confirmed it; otherwise the state of that topic is unknown."""
        (future,) = futures.values()
        try:
            future.result(10)
        except KafkaException:
            return False
        return True


def _survive_as_topics(broker: BrokerProcess, kill: Callable[..., None]) -> None:
    churn = TopicChurn(broker.bootstrap)
    churn.start()
    kill(churn)
    churn.enough.set()
    churn.join(60)
    assert not churn.is_alive()
    assert churn.present
    assert churn.absent
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topics = set(admin.list_topics(timeout=30).topics)
    assert churn.present <= topics
    assert not churn.absent & topics
    _every_topic_works(broker, sorted(topics)[:10])
    verify_data(broker)
    _no_directory_is_left_of(broker.data_dir, churn.absent)


@pytest.mark.timeout(240)
def test_topics_stay_created_and_stay_deleted(broker: BrokerProcess, killer: Killer) -> None:
    _survive_as_topics(broker, partial(killer.kill_times, 8))


@pytest.mark.soak
def test_topics_survive_a_long_time_of_kills(broker: BrokerProcess, killer: Killer) -> None:
    _survive_as_topics(broker, partial(killer.kill_for, soak_seconds()))


def _every_topic_works(broker: BrokerProcess, topics: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    failures: list[KafkaError] = []
    for topic in topics:
        producer.produce(topic, b"works", on_delivery=lambda e, _: failures.append(e) if e else None)
    assert producer.flush(30) == 0
    assert failures == []


def _no_directory_is_left_of(data_dir: Path, topics: set[str]) -> None:
    left = {name.rpartition("-")[0] for name in os.listdir(data_dir) if not name.endswith("-delete")}
    assert not left & topics
