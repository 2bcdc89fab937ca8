"""A consumer of a group that keeps running through every fault, and the checks of what it read."""

import contextlib
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.failover.writer import IMPATIENT, Records
from tests.support.cluster import retry_while_coordinator_moves

_COMMIT_INTERVAL_S = 0.2


class SteadyReader:
    """The only member of its group: reads all partitions and commits its position, one commit at a time.

    After a rebalance it begins at the group's committed offset: no earlier than the last acknowledged commit and no
    later than the last attempted one. From there on each offset follows the one before.
    """

    def __init__(self, bootstrap: str, topic: str, group: str, protocol: str) -> None:
        self._topic = topic
        self._settings = {
            **IMPATIENT,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",  # a lost commit shows as a start before the committed offset
            "enable.auto.commit": False,
            "log_level": 0,
        }
        self._consumer = Consumer(
            {**self._settings, "group.protocol": protocol, "on_commit": self._committed_by_group}
        )
        self.seen: dict[int, dict[int, bytes]] = {}
        self.violations: list[str] = []
        self.assignments = 0
        self.acknowledged: dict[int, int] = {}
        self._positions: dict[int, int] = {}
        self._attempted: dict[int, int] = {}
        self._floors: dict[
            int, int
        ] = {}  # where a partition that was just assigned may begin at the earliest
        self._pending: dict[int, int] | None = None
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._consumer.subscribe([self._topic], on_assign=self._assigned)
        next_commit_at = 0.0
        while not self._is_stopping.is_set():
            for message in self._consumer.consume(500, 0.1):
                if message.error() is None:
                    self._take(message)
            if self._pending is None and time.monotonic() >= next_commit_at and self._is_ahead():
                self._commit()
                next_commit_at = time.monotonic() + _COMMIT_INTERVAL_S
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignments += 1
        for each in partitions:
            self._floors[each.partition] = self.acknowledged.get(each.partition, 0)

    def _take(self, message: Message) -> None:
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        floor = self._floors.pop(partition, None)
        expected = self._positions.get(partition, 0)
        if floor is not None:
            if not floor <= offset <= max(floor, self._attempted.get(partition, 0)):
                self.violations.append(f"partition {partition} begins at {offset}, committed was {floor}")
        elif offset != expected:
            self.violations.append(f"partition {partition} continues at {offset}, not at {expected}")
        known = self.seen.setdefault(partition, {}).setdefault(offset, value or b"")
        if known != value:
            self.violations.append(
                f"partition {partition} has {value!r} at {offset}, read before as {known!r}"
            )
        self._positions[partition] = offset + 1

    def _is_ahead(self) -> bool:
        return any(self.acknowledged.get(each, 0) < at for each, at in self._positions.items())

    def _commit(self) -> None:
        wanted = dict(self._positions)
        for partition, offset in wanted.items():
            self._attempted[partition] = max(offset, self._attempted.get(partition, 0))
        self._pending = wanted
        try:
            self._consumer.commit(
                offsets=[TopicPartition(self._topic, *each) for each in wanted.items()], asynchronous=True
            )
        except KafkaException:  # it has no member id just now
            self._pending = None

    def _committed_by_group(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        wanted, self._pending = self._pending or {}, None
        if error is not None:
            return
        for each in partitions:
            if each.error is None and each.partition in wanted:
                self.acknowledged[each.partition] = wanted[each.partition]

    def has_committed(self, ends: dict[int, int]) -> bool:
        return all(self.acknowledged.get(each, 0) == end for each, end in ends.items())

    def stop(self) -> None:
        self._is_stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def committed(self) -> dict[int, int]:
        """The committed offsets of the group, read by another client."""
        with contextlib.closing(Consumer(self._settings)) as other:
            asked = [TopicPartition(self._topic, each) for each in self.acknowledged]
            found = retry_while_coordinator_moves(lambda: other.committed(asked, 60))
            return {each.partition: each.offset for each in found}


def check_read_as_written(reader: SteadyReader, found: Records) -> None:
    """The records read are those of the final log, and the group's committed offsets are right."""
    assert reader.violations == []
    for partition, seen in reader.seen.items():
        records = dict(found[partition])
        changed = [each for each in seen.items() if records.get(each[0]) != each[1]]
        assert changed == [], f"partition {partition} gave {len(changed)} records that are not in its log"
        assert len(seen) == len(records), f"partition {partition} was not read to its end"
    assert reader.committed() == reader.acknowledged
