"""A producer that keeps writing through every fault, and the check that its acknowledged records are read back."""

import bisect
import itertools
import threading
import time
from collections.abc import Mapping

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

Records = dict[int, list[tuple[int, bytes]]]

# A peer that is cut off says nothing: how long a client waits for it is the client's own choice.
IMPATIENT: dict[str, str | int | float | bool] = {
    "socket.timeout.ms": 3000,
    "socket.connection.setup.timeout.ms": 2000,
    "reconnect.backoff.max.ms": 500,
}

_LEADER_CHANGES = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


class SteadyWriter:
    """Writes numbers to all partitions of a topic with acks=all and idempotence, until it is stopped."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self._producer = Producer(
            {
                **IMPATIENT,
                "request.timeout.ms": 2500,
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 90_000,
                "log_level": 0,
            }
        )
        # librdkafka itself acknowledges batches sent before an accepted one, and then has no offset.
        self.acknowledged: dict[int, list[tuple[int | None, bytes]]] = {
            number: [] for number in range(partitions)
        }
        self._acknowledged_at: dict[int, list[float]] = {number: [] for number in range(partitions)}
        self.failures: list[str] = []
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_stopping.is_set():
            partition = number % self._partitions
            self._producer.produce(
                self._topic, str(number).encode(), partition=partition, on_delivery=self._on_delivery
            )
            number += 1
            self._producer.poll(0)
            self._is_stopping.wait(0.002)
        self._producer.flush(90)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        self.acknowledged[message.partition()].append((message.offset(), message.value()))
        self._acknowledged_at[message.partition()].append(time.monotonic())

    @property
    def count(self) -> int:
        return sum(self.counts())

    def counts(self) -> list[int]:
        """The number of acknowledged records of each partition."""
        return [len(each) for each in self._acknowledged_at.values()]

    def ends(self) -> dict[int, int]:
        """The end offset of the acknowledged records of each partition."""
        return {
            number: max((offset + 1 for offset, _ in delivered if offset is not None), default=0)
            for number, delivered in self.acknowledged.items()
        }

    def longest_silence_s(self, since: float) -> float:
        """The longest time between two acknowledgements of one partition after a moment."""
        return max(_longest_gap_s(each, since) for each in self._acknowledged_at.values())

    def stop(self) -> None:
        self._is_stopping.set()
        self._thread.join(100)
        assert not self._thread.is_alive()


def _longest_gap_s(times: list[float], since: float) -> float:
    later = times[bisect.bisect_left(times, since) :]
    return max((after - before for before, after in itertools.pairwise([since, *later])), default=0.0)


def read_all(bootstrap: str, topic: str, at_least: Mapping[int, int]) -> Records:
    """All committed records, by partition, at least up to these offsets."""
    consumer = Consumer(
        {
            **IMPATIENT,
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    found: Records = {number: [] for number in at_least}
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in found])
    # A former leader answers until it learns of the new one: its end offset does not count.
    _read_up_to(consumer, at_least, found)
    ends = {number: _end_of(consumer, TopicPartition(topic, number)) for number in found}
    _read_up_to(consumer, ends, found)
    consumer.close()
    return found


def _end_of(consumer: Consumer, partition: TopicPartition) -> int:
    """The high watermark. A partition whose leader is changing says so, and the client does not ask again by itself."""
    deadline = time.monotonic() + 60
    while True:
        try:
            watermarks = consumer.get_watermark_offsets(partition, timeout=30)
        except KafkaException as error:
            if error.args[0].code() not in _LEADER_CHANGES or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return int(watermarks[1])


def _read_up_to(consumer: Consumer, ends: Mapping[int, int], found: Records) -> None:
    deadline = time.monotonic() + 60
    while any((found[number][-1][0] + 1 if found[number] else 0) < end for number, end in ends.items()):
        assert time.monotonic() < deadline, f"read { ({n: len(f) for n, f in found.items()}) } of {ends}"
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found[message.partition()].append((message.offset(), message.value()))


def check_nothing_lost(writer: SteadyWriter, found: Records) -> None:
    """Each acknowledged record is there once and in order, at its reported offset if there is one; nothing failed."""
    assert writer.failures == []
    for partition, acknowledged in writer.acknowledged.items():
        numbers = [int(value) for _, value in found[partition]]
        assert numbers == sorted(set(numbers)), f"partition {partition} has duplicates or wrong order"
        offsets = {value: offset for offset, value in found[partition]}
        wrong = [
            (value, offset, offsets.get(value))
            for offset, value in acknowledged
            if value not in offsets or offset not in (None, offsets[value])
        ]
        assert wrong == [], (
            f"partition {partition} lost {len(wrong)}: (value, reported, found at) {wrong[:20]}"
        )
