"""An idempotent producer of librdkafka that survives all crashes and retries by itself."""

import threading

from confluent_kafka import KafkaError, Message, Producer


class IdempotentProducer(threading.Thread):
    """Sends numbered records to all partitions in turn; every record must arrive once, in the order sent."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 1, *, key_count: int = 0) -> None:
        """With a `key_count` the records carry that many keys in turn, and every seventh is a tombstone."""
        super().__init__(daemon=True, name=f"idempotent-producer of {topic}")
        # By partition: keys and values in the order sent, which is the order of their offsets.
        self.keys: dict[int, list[bytes | None]] = {partition: [] for partition in range(partitions)}
        self.sent: dict[int, list[bytes | None]] = {partition: [] for partition in range(partitions)}
        self.acknowledged: dict[int, dict[int, bytes | None]] = {each: {} for each in range(partitions)}
        self._failures: list[KafkaError] = []
        self._enough = threading.Event()
        self._left = 0
        self._topic = topic
        self._partitions = partitions
        self._key_count = key_count
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "log_level": 0,  # a dead broker is expected here
                "linger.ms": 2,
                "batch.num.messages": 50,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "compression.type": "lz4",
                "queue.buffering.max.messages": 2_000,
            }
        )

    @property
    def done_count(self) -> int:
        return sum(len(records) for records in self.acknowledged.values())

    def run(self) -> None:
        number = 0
        while not self._enough.is_set():
            partition = number % self._partitions
            key = b"key-%d" % (number % self._key_count) if self._key_count else None
            value = None if key is not None and number % 7 == 0 else b"%d-%d" % (partition, number)
            try:
                self._producer.produce(
                    self._topic, value, key, partition=partition, on_delivery=self._delivered
                )
            except BufferError:  # the broker is down and the queue is full
                self._producer.poll(0.05)
                continue
            self.keys[partition].append(key)
            self.sent[partition].append(value)
            number += 1
            self._producer.poll(0 if number % 20 else 0.002)
        self._left = self._producer.flush(60)

    def finish(self) -> None:
        """Stop sending, and check that everything is delivered now that the broker stays up."""
        self._enough.set()
        self.join(90)
        assert not self.is_alive()
        assert self._failures == []
        assert self._left == 0, f"{self._left} records were never acknowledged"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failures.append(error)
        else:
            self.acknowledged[message.partition()][message.offset()] = message.value()
