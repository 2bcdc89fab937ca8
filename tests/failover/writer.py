"""A producer that goes on whatever happens to the cluster, and what must be read back of it."""

import itertools
import threading
import time
from collections import defaultdict

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition


class SteadyWriter:
    """Writes numbers to all partitions of a topic with acks=all and idempotence, until it is stopped."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": 90_000,
                "log_level": 0,
            }
        )
        self.acknowledged: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        self.acknowledged_at: list[float] = []
        self.failures: list[str] = []
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_stopping.is_set():
            partition = number % self._partitions
            self._producer.produce(
                self._topic, str(number).encode(), partition=partition, on_delivery=self._told
            )
            number += 1
            self._producer.poll(0)
            self._is_stopping.wait(0.002)
        self._producer.flush(90)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))
            return
        self.acknowledged[message.partition()].append((message.offset(), message.value()))
        self.acknowledged_at.append(time.monotonic())

    @property
    def count(self) -> int:
        return len(self.acknowledged_at)

    def longest_silence_s(self, since: float) -> float:
        """The longest time between two acknowledgements after a moment."""
        times = [since, *(each for each in self.acknowledged_at if each >= since)]
        return max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)

    def stop(self) -> None:
        self._is_stopping.set()
        self._thread.join(100)
        assert not self._thread.is_alive()


def read_all(bootstrap: str, topic: str, partitions: int) -> dict[int, list[tuple[int, bytes]]]:
    """Everything that is committed, by partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    ends = {
        number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=30)[1]
        for number in range(partitions)
    }
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in ends])
    found: dict[int, list[tuple[int, bytes]]] = {number: [] for number in ends}
    deadline = time.monotonic() + 60
    while any((found[number][-1][0] + 1 if found[number] else 0) < end for number, end in ends.items()):
        assert time.monotonic() < deadline, f"read { ({n: len(f) for n, f in found.items()}) } of {ends}"
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found[message.partition()].append((message.offset(), message.value()))
    consumer.close()
    return found


def check_nothing_lost(writer: SteadyWriter, found: dict[int, list[tuple[int, bytes]]]) -> None:
    """Each acknowledged record is where its offset says, once and in order; nothing failed."""
    assert writer.failures == []
    for partition, acknowledged in writer.acknowledged.items():
        records = dict(found[partition])
        missing = [each for each in acknowledged if records.get(each[0]) != each[1]]
        assert missing == [], f"partition {partition} lost {len(missing)}"
        numbers = [int(value) for _, value in found[partition]]
        assert numbers == sorted(set(numbers)), f"partition {partition} is doubled or out of order"
