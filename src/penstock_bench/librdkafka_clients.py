"""Producers and consumers of confluent-kafka, configured as most applications configure them."""

import time
from collections.abc import Iterable
from typing import Any

import confluent_kafka

_FLUSH_S = 60.0
_CONSUME_MAX = 10_000
# Workloads stop brokers under their clients. Failures show in delivery reports.
_QUIET = {"log_level": 2}


class DeliveryFailed(Exception):
    """librdkafka reported a message that was not delivered."""


def _producer(bootstrap: str, **settings: Any) -> Any:
    return confluent_kafka.Producer(
        {
            **_QUIET,
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "socket.nagle.disable": True,
            "queue.buffering.max.messages": 5_000_000,
            "queue.buffering.max.kbytes": 2_000_000,
            **settings,
        }
    )


def produce_bulk(
    bootstrap: str, topic: str, message_bytes: int, count: int, *, is_idempotent: bool = False
) -> float:
    """Return the seconds from the first `produce` to the last acknowledgement, with default batching."""
    failures: list[str] = []
    producer = _producer(
        bootstrap, **{"delivery.report.only.error": True, "enable.idempotence": is_idempotent}
    )
    _connect(producer, topic)
    payload = b"x" * message_bytes
    produce = producer.produce

    def report(error: Any, _message: Any) -> None:
        failures.append(str(error))

    began = time.perf_counter()
    for _ in range(count):
        produce(topic, payload, partition=0, on_delivery=report)
    left = producer.flush(_FLUSH_S)
    took_s = time.perf_counter() - began
    if left or failures:
        raise DeliveryFailed(f"{left} messages were not acknowledged; failures: {failures[:1]}")
    return took_s


def produce_values(bootstrap: str, topic: str, values: Iterable[bytes], partitions: int) -> None:
    """Produce the values, round-robin over the partitions, and wait for all acknowledgements."""
    failures: list[str] = []
    producer = _producer(bootstrap, **{"delivery.report.only.error": True})

    def report(error: Any, _message: Any) -> None:
        failures.append(str(error))

    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % partitions, on_delivery=report)
    left = producer.flush(_FLUSH_S)
    if left or failures:
        raise DeliveryFailed(f"{left} messages were not acknowledged; failures: {failures[:1]}")


def produce_in_transactions(
    bootstrap: str, topic: str, message_bytes: int, count: int, commit_interval_s: float
) -> float:
    """Return the seconds from the first `produce` to the last commit, with one commit in each interval."""
    producer = _producer(bootstrap, **{"transactional.id": topic})
    _connect(producer, topic)
    producer.init_transactions(_FLUSH_S)
    payload = b"x" * message_bytes
    began = time.perf_counter()
    producer.begin_transaction()
    commit_at = began + commit_interval_s
    for number in range(count):
        producer.produce(topic, payload, partition=0)
        if number % 64 == 0 and time.perf_counter() >= commit_at:
            producer.commit_transaction(_FLUSH_S)  # raises when a message was not delivered
            producer.begin_transaction()
            commit_at = time.perf_counter() + commit_interval_s
    producer.commit_transaction(_FLUSH_S)
    return time.perf_counter() - began


class LoneProducer:
    """Produces one message at a time and waits for its acknowledgement."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._producer = _producer(bootstrap, **{"linger.ms": 0})
        _connect(self._producer, topic)
        self.produce_for(100, 0.05)

    def produce_for(self, message_bytes: int, duration_s: float) -> tuple[int, list[float]]:
        """Return how many were acknowledged in that time, and how long each took in seconds."""
        payload = b"x" * message_bytes
        failures: list[str] = []

        def report(error: Any, _message: Any) -> None:
            if error is not None:
                failures.append(str(error))

        latencies: list[float] = []
        clock = time.perf_counter
        now = clock()
        end = now + duration_s
        while now < end:
            self._producer.produce(self._topic, payload, partition=0, on_delivery=report)
            if self._producer.flush(_FLUSH_S):
                failures.append("not acknowledged in time")
            done = clock()
            latencies.append(done - now)
            now = done
        if failures:
            raise DeliveryFailed(failures[0])
        return len(latencies), latencies


def consume_all(bootstrap: str, topic: str, end_offset: int) -> float:
    """Return the seconds to read partition 0 from its start to `end_offset`, assigned, without a group."""
    consumer = confluent_kafka.Consumer(
        {**_QUIET, "bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    )
    try:
        began = time.perf_counter()
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        position = 0
        while position < end_offset:
            # `consume` waits until it has all requested messages: request no more than there are.
            messages = consumer.consume(min(_CONSUME_MAX, end_offset - position), _FLUSH_S)
            if not messages:
                raise DeliveryFailed(f"no message arrived after offset {position}")
            for message in (messages[0], messages[-1]):
                if message.error() is not None:
                    raise DeliveryFailed(str(message.error()))
            position = messages[-1].offset() + 1
        return time.perf_counter() - began
    finally:
        consumer.close()


def _connect(producer: Any, topic: str) -> None:
    """Fetch the metadata of the topic before the clock starts: connecting is not measured."""
    metadata = producer.list_topics(topic, timeout=30)
    if metadata.topics[topic].error is not None:
        raise DeliveryFailed(str(metadata.topics[topic].error))
