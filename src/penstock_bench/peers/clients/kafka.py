"""Penstock and Apache Kafka through confluent-kafka: one client for both, `acks=all`, its own batching."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic

from penstock_bench.peers.clients import Client, NotDelivered, stamped
from penstock_bench.peers.tasks import Where
from penstock_bench.timing import repeat_for

_WAIT_S = 60.0
_FIRST_WAIT_S = 5.0
_READ_MAX = 5_000
_QUEUE_MESSAGES = 200_000
_QUEUE_KIB = 64 << 10
_POLL_EVERY = 256
_QUIET = {"log_level": 0, "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50}


class KafkaClient(Client):
    """`settings` are added to those of its producers."""

    def __init__(self, where: Where, **settings: Any) -> None:
        super().__init__(where)
        self._producer_settings = settings
        self._base: dict[str, Any] = {**_QUIET, "bootstrap.servers": where.bootstrap}
        self._producers: dict[str, Any] = {}
        self._consumer: Any = None
        self._failures: list[str] = []

    def create(self, wait_s: float = _WAIT_S) -> None:
        where = self.where
        admin = AdminClient(self._base)
        topic = NewTopic(where.stream, where.partitions, where.replicas, config=where.options)
        admin.create_topics([topic], operation_timeout=wait_s)[where.stream].result(wait_s)

    def remove(self) -> None:
        admin = AdminClient(self._base)
        admin.delete_topics([self.where.stream])[self.where.stream].result(_WAIT_S)

    def first(self) -> None:
        with contextlib.suppress(confluent_kafka.KafkaException):  # it exists; otherwise the publish fails
            self.create(_FIRST_WAIT_S)
        producer = self._producer(
            "first", **{"linger.ms": 0, "message.timeout.ms": int(_FIRST_WAIT_S * 1000)}
        )
        producer.produce(self.where.stream, b"first", partition=0, on_delivery=self._note)
        self._flush(producer, _FIRST_WAIT_S)

    def _connect_publisher(self) -> None:
        for kind, settings in (("lone", {"linger.ms": 0}), ("many", {})):
            producer = self._producer(kind, **settings)
            found = producer.list_topics(self.where.stream, timeout=_WAIT_S).topics[self.where.stream]
            if found.error is not None:
                raise NotDelivered(str(found.error))

    def publish_one(self, payload: bytes) -> None:
        producer = self._producers["lone"]
        producer.produce(self.where.stream, payload, partition=0, on_delivery=self._note)
        self._flush(producer, self._answer_within_s)

    def reopen_publisher(self) -> None:
        self._failures.clear()  # librdkafka finds the new leader itself

    def publish_many(self, payload: bytes, count: int, duration_s: float) -> int:
        producer = self._producers["many"]
        produce, stream, clock = producer.produce, self.where.stream, time.perf_counter
        sent = 0
        end = clock() + duration_s
        while not count or sent < count:
            if sent % _POLL_EVERY == 0:
                producer.poll(0)
                if clock() >= end:
                    break
            try:
                produce(stream, payload, partition=0)
                sent += 1
            except BufferError:  # the client's queue is full: wait for the broker
                producer.poll(0.005)
                if clock() >= end:
                    break
        self._flush(producer, _WAIT_S)
        return sent

    def publish_paced(self, size_bytes: int, count: int, interval_s: float) -> None:
        producer = self._producers["lone"]
        clock = time.perf_counter
        began = clock()
        for number in range(count):
            due = began + number * interval_s
            if (early := due - clock()) > 0:
                time.sleep(early)
            producer.produce(self.where.stream, stamped(due, size_bytes), partition=0, on_delivery=self._note)
            producer.poll(0)
        self._flush(producer, _WAIT_S)

    def open_reader(self, group: str) -> None:
        settings = {
            **self._base,
            "group.id": group or "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
        }
        self._consumer = confluent_kafka.Consumer(settings)
        stream = self.where.stream
        if not group:
            partitions = range(self.where.partitions)
            self._consumer.assign([confluent_kafka.TopicPartition(stream, each, 0) for each in partitions])
            return
        self._consumer.subscribe([stream])
        deadline = time.perf_counter() + _WAIT_S
        while not self._consumer.assignment():
            if (early := self._consumer.poll(0.05)) is not None and early.error() is None:
                raise NotDelivered("a message came before the reader was ready")
            if time.perf_counter() > deadline:
                raise NotDelivered(f"group {group} was assigned nothing")

    def read(self, count: int) -> Iterator[list[bytes]]:
        left = count
        deadline = time.perf_counter() + _WAIT_S
        while left:
            # `consume` waits for all requested messages, so wait for one and take the others that are there.
            first = self._consumer.poll(1.0)
            messages = [] if first is None else [first]
            if messages and left > 1:
                messages += self._consumer.consume(min(_READ_MAX, left) - 1, 0)
            for message in messages:
                if message.error() is not None:
                    raise NotDelivered(str(message.error()))
            if messages:
                deadline = time.perf_counter() + _WAIT_S
                left -= len(messages)
                yield [message.value() for message in messages]
            elif time.perf_counter() > deadline:
                raise NotDelivered(f"{left} messages of {count} did not arrive")

    def open_transformer(self, group: str) -> None:
        self.open_reader("")  # at the start, without a rebalance
        self._group = group
        # The next transaction is refused until the markers of the last one are written. librdkafka then waits for its
        # retry backoff, which is 100 ms unless set, and that wait would be what is measured.
        settings = {"transactional.id": group, "linger.ms": 0, "retry.backoff.ms": 1}
        producer = self._producer("transactional", **settings)
        producer.init_transactions(_WAIT_S)

    def transform(self, output: str, messages: int, duration_s: float) -> list[float]:
        producer, consumer = self._producers["transactional"], self._consumer

        def transform_some() -> None:
            taken = consumer.consume(messages, _WAIT_S)
            if len(taken) < messages:
                raise NotDelivered(f"{messages - len(taken)} messages of {messages} did not arrive")
            producer.begin_transaction()
            for message in taken:
                producer.produce(output, message.value().upper(), partition=0)
            positions = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), _WAIT_S)
            producer.commit_transaction(_WAIT_S)  # raises when a message was not delivered

        return repeat_for(duration_s, transform_some)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _producer(self, kind: str, **settings: Any) -> Any:
        producer = confluent_kafka.Producer(
            {
                **self._base,
                "acks": "all",
                "socket.nagle.disable": True,
                "queue.buffering.max.messages": _QUEUE_MESSAGES,
                "queue.buffering.max.kbytes": _QUEUE_KIB,
                "delivery.report.only.error": True,
                "on_delivery": self._note,
                **self._producer_settings,
                **settings,
            }
        )
        self._producers[kind] = producer
        return producer

    def _note(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._failures.append(str(error))

    def _flush(self, producer: Any, wait_s: float) -> None:
        left = producer.flush(wait_s)
        if left or self._failures:
            raise NotDelivered(self._failures[0] if self._failures else f"{left} messages not acknowledged")
