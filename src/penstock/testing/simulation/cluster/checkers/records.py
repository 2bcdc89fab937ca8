"""What producers and consumers were told: an acknowledged record stays where it is, and so does one that was read."""

from collections.abc import Sequence

from penstock.protocol.errors import ErrorCode
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

PartitionName = tuple[str, int]
Found = list[tuple[int, bytes]]
"""The records of a log as it is at the end: offsets and values."""


def writer_of(value: bytes) -> tuple[str, str]:
    """Who wrote a record, and its number."""
    writer, _, number = value.decode().rpartition(" ")
    return writer, number


class RecordChecker:
    """Of partitions whose producers wait for all in-sync replicas and number their records.

    Where a partition has several, each puts its name and a space before its numbers.
    """

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.acknowledged: dict[PartitionName, dict[int, bytes]] = {}
        self.read: dict[PartitionName, dict[int, bytes]] = {}
        self.excused: set[str] = set()
        """Topics that may lose records: those whose elections may be unclean."""
        self.repeating: set[str] = set()
        """Producers that are not idempotent: what they send again may be there more than once."""
        self._last: dict[tuple[PartitionName, str], int] = {}
        """Where the last acknowledged record of each producer is."""

    @property
    def acknowledged_count(self) -> int:
        return sum(len(each) for each in self.acknowledged.values())

    def acknowledges(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """A producer was told that its record is at this offset."""
        known = self.acknowledged.setdefault(partition, {})
        writer = (partition, writer_of(value)[0])
        if partition[0] not in self.excused:
            if offset in known:
                self._fail("acknowledged", partition, f"{known[offset]!r} and {value!r} are both at {offset}")
            if offset < self._last.get(writer, 0):
                self._fail("acknowledged", partition, f"{value!r} is at {offset}, before an earlier record")
            seen = self.read.get(partition, {}).get(offset, value)
            if seen != value:
                self._fail("acknowledged", partition, f"{value!r} is at {offset}, where {seen!r} was read")
        known[offset] = value
        self._last[writer] = offset

    def are_answered(self, partition: PartitionName, codes: Sequence[ErrorCode | None]) -> None:
        """Batches of an idempotent producer were pipelined for the first time; None is no answer.

        A leader that takes them in their order refuses a sequence only behind a batch that it did not store.
        """
        for number, code in enumerate(codes):
            if code is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                continue
            before, behind = codes[:number], codes[number + 1 :]
            is_next = bool(before) and all(each is ErrorCode.NONE for each in before)
            if is_next or ErrorCode.NONE in behind:
                self._fail(
                    "pipelined order",
                    partition,
                    f"{[None if each is None else each.name for each in codes]} is answered",
                )

    def reads(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """A consumer was given this: it is committed, and nobody may ever read anything else there."""
        if partition[0] in self.excused:
            return
        known = self.read.setdefault(partition, {}).setdefault(offset, value)
        if known != value:
            self._fail("read", partition, f"{known!r} was read at {offset}, and {value!r} later")
        told = self.acknowledged.get(partition, {}).get(offset, value)
        if told != value:
            self._fail("read", partition, f"{value!r} is read at {offset}, where {told!r} was stored")

    def ends_with(self, partition: PartitionName, found: Found) -> None:
        """All that is in a log when no more faults come."""
        if partition[0] in self.excused:
            return
        values = dict(found)
        for invariant, told in (("acknowledged", self.acknowledged), ("read", self.read)):
            for offset, value in told.get(partition, {}).items():
                if values.get(offset) != value:
                    self._fail(invariant, partition, f"{values.get(offset)!r} is at {offset}, not {value!r}")

    def is_numbered(self, partition: PartitionName, found: Found) -> None:
        """A producer that numbers its records has each of them there once, in order.

        One that repeats itself has each once or more, and for the first time in order.
        """
        numbers: dict[str, list[int]] = {}
        for _, value in found:
            writer, number = writer_of(value)
            if number.isdigit():
                numbers.setdefault(writer, []).append(int(number))
        for writer, all_of in numbers.items():
            kept = list(dict.fromkeys(all_of)) if writer in self.repeating else all_of
            if kept != list(range(len(kept))):
                self._fail("order", partition, f"{writer} {all_of} are not in order, each once")

    def _fail(self, invariant: str, partition: PartitionName, detail: str) -> None:
        self._verdict.fail(invariant, f"{partition[0]}-{partition[1]}: {detail}")
