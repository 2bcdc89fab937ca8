"""What clients were told and what nodes claimed, over the whole run: anything that contradicts it is a violation."""

import contextlib
from collections.abc import Iterator

from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.testing.simulation.raft.checker import Violation

PartitionName = tuple[str, int]


class History:
    """Outlives crashes: kept outside all nodes."""

    def __init__(self) -> None:
        self.acknowledged: dict[PartitionName, dict[int, bytes]] = {}
        self.read: dict[PartitionName, dict[int, bytes]] = {}
        self.topics_created: set[str] = set()
        self.leaders: dict[tuple[bytes, int, int], int] = {}
        self.violation: Violation | None = None

    def fail(self, invariant: str, detail: str) -> None:
        """Keep the first: nodes and clients would take an exception for a failure of theirs, and go on."""
        self.violation = self.violation or Violation(invariant, detail)

    def check(self) -> None:
        """Raise the `Violation` that has been seen, if any."""
        if self.violation is not None:
            raise self.violation

    @property
    def acknowledged_count(self) -> int:
        return sum(len(each) for each in self.acknowledged.values())

    def acknowledges(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """A producer was told that its record is at this offset."""
        known = self.acknowledged.setdefault(partition, {})
        if offset in known:
            self.fail("acknowledged", f"{partition}: {known[offset]!r} and {value!r} are both at {offset}")
        if known and offset < max(known):
            self.fail("acknowledged", f"{partition}: {value!r} is at {offset}, before an earlier record")
        known[offset] = value

    def reads(self, partition: PartitionName, offset: int, value: bytes) -> None:
        """A consumer was given this: it is committed, and nobody may ever read anything else there."""
        known = self.read.setdefault(partition, {}).setdefault(offset, value)
        if known != value:
            self.fail("read", f"{partition}: {known!r} was read at {offset}, and {value!r} later")
        told = self.acknowledged.get(partition, {}).get(offset, value)
        if told != value:
            self.fail("read", f"{partition}: {value!r} is read at {offset}, where {told!r} was stored")

    def follows(self, replica: Replica) -> None:
        """A node knows who leads a partition in an epoch."""
        if replica.leader_id < 0:
            return
        key = (replica.topic_id, replica.partition, replica.leader_epoch)
        known = self.leaders.setdefault(key, replica.leader_id)
        if known != replica.leader_id:
            self.fail(
                "one leader",
                f"{replica.topic}-{replica.partition} is led by {known} and by {replica.leader_id} in epoch "
                f"{replica.leader_epoch}",
            )

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Look at every replica of every node whenever it is told of a leader."""
        follow = Replica.follow

        def watched(replica: Replica, state: Partition) -> None:
            follow(replica, state)
            self.follows(replica)

        Replica.follow = watched  # type: ignore[method-assign,assignment]  # all nodes, over all their lives
        try:
            yield
        finally:
            Replica.follow = follow  # type: ignore[method-assign]
