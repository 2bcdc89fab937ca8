"""What a share group promises: who was told that a record is done with has the last word, and no record is left out.

A record whose acknowledgement was answered is never delivered again by the leader of its partition. One that leads no
more and has not heard of it may give out again what it has in memory, as in Kafka; but no acknowledgement of that
counts, since its successor has told the share coordinator who leads. An answer may be on its way for long: only what
was asked for after the acknowledgement was answered must not have it.

That a record is acknowledged twice is no violation: what lies before the start of a share partition is done with, and
whoever acknowledges it is told that all is well, as in Kafka.
"""

import itertools
from collections.abc import Callable, Iterable

from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

IsLeader = Callable[[PartitionName, str], bool]
"""Whether a node leads a partition, as the newest metadata of the cluster has it."""


def any_may_lead(_partition: PartitionName, _host: str) -> bool:
    """For those who do not know."""
    return True


class ShareChecker:
    """Of one group."""

    def __init__(self, verdict: Verdict, is_leader: IsLeader) -> None:
        self._verdict = verdict
        self._is_leader = is_leader
        self._order = itertools.count()
        self._done: dict[PartitionName, dict[int, int]] = {}
        self._delivered: dict[PartitionName, set[int]] = {}
        self.again_count = 0

    @property
    def done_count(self) -> int:
        return sum(len(each) for each in self._done.values())

    def asks(self) -> int:
        """Somebody asks for records; what is given in answer is told with this number."""
        return next(self._order)

    def is_given(self, partition: PartitionName, offset: int, asked: int, host: str) -> None:
        delivered = self._delivered.setdefault(partition, set())
        if offset in delivered:
            self.again_count += 1
        delivered.add(offset)
        done = self._done.get(partition, {}).get(offset)
        if done is not None and done < asked and self._is_leader(partition, host):
            self._fail("done once", partition, f"{offset} is given by {host} after it was acknowledged")

    def is_done(self, partition: PartitionName, offset: int) -> None:
        """A member was told that its acceptance or rejection counts."""
        self._done.setdefault(partition, {}).setdefault(offset, next(self._order))

    def left_out(self, partition: PartitionName, offsets: Iterable[int]) -> list[int]:
        """Those of the offsets that nobody was ever given."""
        delivered = self._delivered.get(partition, set())
        return [each for each in offsets if each not in delivered]

    def misses(self, partition: PartitionName, offset: int) -> None:
        self._fail("delivery", partition, f"{offset} was acquired, and its record did not come along")

    def _fail(self, invariant: str, partition: PartitionName, detail: str) -> None:
        self._verdict.fail(invariant, f"{partition[0]}-{partition[1]}: {detail}")
