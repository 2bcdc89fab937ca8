"""Checks a share group: an acknowledged record is not delivered again, and every record is delivered.

A record whose acknowledgement was answered is never delivered again by the leader of its partition. A replaced leader
that does not know it yet may deliver records again from memory, as in Kafka; acknowledgements to it do not count,
since its successor has announced its epoch to the share coordinator. An answer may take long: only a fetch that was
sent after the acknowledgement was answered must not contain the record.

A record may be acknowledged twice: records before the start of a share partition are done, and acknowledging them
succeeds, as in Kafka.
"""

import itertools
from collections.abc import Callable, Iterable

from penstock_simulation.cluster.checkers.checker import Checker
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.violation import ViolationLog

IsLeader = Callable[[PartitionName, str], bool]
"""Returns whether a node leads a partition by the newest metadata of the cluster."""


class ShareChecker(Checker):
    def __init__(
        self, violations: ViolationLog, is_leader: IsLeader = lambda _partition, _node: True
    ) -> None:
        super().__init__(violations)
        self._is_leader = is_leader
        self._order = itertools.count()
        self._acknowledged: dict[PartitionName, dict[int, int]] = {}
        self._delivered: dict[PartitionName, set[int]] = {}
        self.redelivered_count = 0

    @property
    def acknowledged_count(self) -> int:
        return sum(len(each) for each in self._acknowledged.values())

    def on_fetch_sent(self) -> int:
        """Return the number of a fetch, to be given with the records that it returns."""
        return next(self._order)

    def on_delivered(self, partition: PartitionName, offset: int, fetch: int, node: str) -> None:
        delivered = self._delivered.setdefault(partition, set())
        if offset in delivered:
            self.redelivered_count += 1
        delivered.add(offset)
        acknowledged = self._acknowledged.get(partition, {}).get(offset)
        if acknowledged is not None and acknowledged < fetch and self._is_leader(partition, node):
            detail = f"{node} delivered offset {offset} after it was acknowledged"
            self._fail("delivered after acknowledgement", partition, detail)

    def on_acknowledged(self, partition: PartitionName, offset: int) -> None:
        """A member's acceptance or rejection of a record was confirmed."""
        self._acknowledged.setdefault(partition, {}).setdefault(offset, next(self._order))

    def undelivered(self, partition: PartitionName, offsets: Iterable[int]) -> list[int]:
        """Return the offsets that were never delivered."""
        delivered = self._delivered.get(partition, set())
        return [each for each in offsets if each not in delivered]

    def on_record_missing(self, partition: PartitionName, offset: int) -> None:
        self._fail("missing record", partition, f"offset {offset} was acquired without its record")
