"""A well-behaved client, which checks that all acknowledged records are there."""

import os
import time
from types import TracebackType
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

GOOD = "good"
_AT_ONCE = 500
_CHECKED_PLACES = 5
_WAIT_S = 30


def fill(bootstrap: str, topic: str, size_bytes: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": 900_000})
    for _ in range(size_bytes // 500_000):
        producer.produce(topic, os.urandom(500_000))
        producer.flush()


class GoodClient:
    """Writes numbers to a topic of its own, and reads it from the start."""

    def __init__(self, bootstrap: str) -> None:
        # Retries after a broken connection are stored once, so that offsets count the acknowledged records.
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True}
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GOOD,
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 10,
            }
        )
        self._first_offset = self._end_offset()
        self._sent = 0
        self._failures: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def write(self, seconds: float) -> int:
        """Write for `seconds`; returns the number of messages."""
        before = self._sent
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            for _ in range(_AT_ONCE):
                self._producer.produce(
                    GOOD,
                    b"%020d" % self._sent,
                    on_delivery=lambda error, _: self._failures.append(str(error)) if error else None,
                )
                self._sent += 1
            self._producer.flush()
        return self._sent - before

    def begin_to_read(self) -> None:
        """From the start."""
        self._seek(OFFSET_BEGINNING)
        assert self._consumer.consume(1, _WAIT_S), "nothing came"

    def read(self, seconds: float) -> int:
        """Continue for `seconds`, or up to the end; returns the number of messages."""
        left = self._end_offset() - 1
        read = 0
        began = time.monotonic()
        while read < left and time.monotonic() - began < seconds:
            read += len(self._consumer.consume(min(_AT_ONCE, left - read), 1))
        return read

    def check_all_is_there(self) -> None:
        """Offsets give the count; the values are checked at some positions."""
        assert self._failures == []
        assert self._end_offset() - self._first_offset == self._sent
        step = max(1, self._sent // _CHECKED_PLACES)
        for place in [*range(0, self._sent, step), self._sent - 1]:
            self._seek(self._first_offset + place)
            (message,) = self._consumer.consume(1, _WAIT_S)
            assert message.value() == b"%020d" % place

    def _seek(self, offset: int) -> None:
        self._consumer.assign([TopicPartition(GOOD, 0, offset)])

    def _end_offset(self) -> int:
        bounds = self._consumer.get_watermark_offsets(TopicPartition(GOOD, 0), timeout=_WAIT_S)
        assert bounds is not None, "no answer about offsets"
        return int(bounds[1])
