"""What producers and consumers were told: an acknowledged record stays where it is, and so does one that was read."""

from penstock.testing.simulation.cluster.checkers.verdict import Verdict

PartitionName = tuple[str, int]
Found = list[tuple[int, bytes]]
"""The records of a log as it is at the end: offsets and values."""


class RecordChecker:
    """Of partitions that each have one producer, which waits for all in-sync replicas and numbers its records."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.acknowledged: dict[PartitionName, dict[int, bytes]] = {}
        self.read: dict[PartitionName, dict[int, bytes]] = {}
        self.excused: set[str] = set()
        """Topics that may lose records: those whose elections may be unclean."""

    @property
    def acknowledged_count(self) -> int:
        return sum(len(each) for each in self.acknowledged.values())

    def acknowledges(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """A producer was told that its record is at this offset."""
        known = self.acknowledged.setdefault(partition, {})
        if partition[0] not in self.excused:
            if offset in known:
                self._fail("acknowledged", partition, f"{known[offset]!r} and {value!r} are both at {offset}")
            if known and offset < max(known):
                self._fail("acknowledged", partition, f"{value!r} is at {offset}, before an earlier record")
            seen = self.read.get(partition, {}).get(offset, value)
            if seen != value:
                self._fail("acknowledged", partition, f"{value!r} is at {offset}, where {seen!r} was read")
        known[offset] = value

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
        """A producer that numbers its records has each of them there once, in order."""
        numbers = [int(value) for _, value in found if value.isdigit()]
        if numbers != list(range(len(numbers))):
            self._fail("order", partition, f"{numbers} are not in order, each once")

    def _fail(self, invariant: str, partition: PartitionName, detail: str) -> None:
        self._verdict.fail(invariant, f"{partition[0]}-{partition[1]}: {detail}")
