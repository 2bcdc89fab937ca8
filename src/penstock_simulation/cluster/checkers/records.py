"""Checks producers and consumers: an acknowledged record stays at its offset, and so does a record that was read."""

from collections.abc import Sequence

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.checkers.checker import Checker
from penstock_simulation.cluster.values import PartitionName, Records
from penstock_simulation.violation import ViolationLog


def split_value(value: bytes) -> tuple[str, str]:
    """Return the producer of a record, and its number."""
    producer, _, number = value.decode().rpartition(" ")
    return producer, number


class RecordChecker(Checker):
    """Checks partitions whose producers use acks=all and number their records.

    Where a partition has several producers, a value is the producer's name, a space and a number.
    """

    def __init__(self, violations: ViolationLog) -> None:
        super().__init__(violations)
        self.acknowledged: dict[PartitionName, dict[int, bytes]] = {}
        self.read: dict[PartitionName, dict[int, bytes]] = {}
        self.lossy_topics: set[str] = set()
        """Topics that may lose acknowledged records."""
        self.non_idempotent: set[str] = set()
        """Producers whose retries may be stored more than once."""
        self._last_offsets: dict[tuple[PartitionName, str], int] = {}
        """The offset of each producer's last acknowledged record."""

    @property
    def acknowledged_count(self) -> int:
        return sum(len(each) for each in self.acknowledged.values())

    def on_acknowledged(self, partition: PartitionName, offset: int, value: bytes) -> None:
        known = self.acknowledged.setdefault(partition, {})
        producer = (partition, split_value(value)[0])
        if partition[0] not in self.lossy_topics:
            if offset in known:
                detail = f"{known[offset]!r} and {value!r} were both acknowledged at offset {offset}"
                self._fail("acknowledged", partition, detail)
            if offset < self._last_offsets.get(producer, 0):
                detail = f"{value!r} was acknowledged at offset {offset}, before an earlier record"
                self._fail("acknowledged", partition, detail)
            seen = self.read.get(partition, {}).get(offset, value)
            if seen != value:
                detail = f"{value!r} was acknowledged at offset {offset}, where {seen!r} was read"
                self._fail("acknowledged", partition, detail)
        known[offset] = value
        self._last_offsets[producer] = offset

    def on_pipelined(self, partition: PartitionName, codes: Sequence[ErrorCode | None]) -> None:
        """Check the first answers to pipelined batches of an idempotent producer; None is no answer.

        A leader that appends them in order rejects a sequence number only after a batch that it did not store.
        """
        for number, code in enumerate(codes):
            if code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                continue
            before, after = codes[:number], codes[number + 1 :]
            is_next = bool(before) and all(each is ErrorCode.NONE for each in before)
            if is_next or ErrorCode.NONE in after:
                names = [None if each is None else each.name for each in codes]
                self._fail("pipelined order", partition, f"the batches were answered with {names}")

    def on_read(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """Check a record that a consumer received."""
        if partition[0] in self.lossy_topics:
            return
        known = self.read.setdefault(partition, {}).setdefault(offset, value)
        if known != value:
            self._fail("read", partition, f"{known!r} was read at offset {offset}, and {value!r} later")
        stored = self.acknowledged.get(partition, {}).get(offset, value)
        if stored != value:
            detail = f"{value!r} was read at offset {offset}, where {stored!r} was acknowledged"
            self._fail("read", partition, detail)

    def check_log(self, partition: PartitionName, records: Records) -> None:
        """Check the whole log at the end of a run."""
        if partition[0] in self.lossy_topics:
            return
        values = dict(records)
        for invariant, expected in (("acknowledged", self.acknowledged), ("read", self.read)):
            for offset, value in expected.get(partition, {}).items():
                if values.get(offset) != value:
                    detail = f"offset {offset} has {values.get(offset)!r} instead of {value!r}"
                    self._fail(invariant, partition, detail)

    def check_numbers(self, partition: PartitionName, records: Records) -> None:
        """Check that each producer's numbers are stored once and in order; retries may repeat non-idempotent ones."""
        numbers: dict[str, list[int]] = {}
        for _, value in records:
            producer, number = split_value(value)
            if number.isdigit():
                numbers.setdefault(producer, []).append(int(number))
        for producer, stored in numbers.items():
            expected = list(dict.fromkeys(stored)) if producer in self.non_idempotent else stored
            if expected != list(range(len(expected))):
                self._fail("order", partition, f"the records of {producer!r} are not in order: {stored}")
