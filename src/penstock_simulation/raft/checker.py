"""The invariants of the quorum, checked over all nodes at every step. `docs/replication.md` lists them.

The checker remembers everything that was ever appended or committed, across crashes.
"""

from penstock.cluster.raft.values import LogPosition, ReplicaKey
from penstock.cluster.raft.voters import VoterSet
from penstock_simulation.violation import Violation


class RaftChecker:
    def __init__(self) -> None:
        self.leaders: dict[int, ReplicaKey] = {}
        """The leader of each epoch."""
        self._appended: dict[LogPosition, tuple[bytes, int]] = {}
        """By epoch and base offset of a batch: its bytes, and the epoch of the record before it."""
        self.committed: dict[int, tuple[int, bytes]] = {}
        """By base offset: epoch and bytes of every batch that some node applied."""
        self._states: dict[int, int] = {}
        """By offset: the digest of the state machine after all records before it."""
        self.committed_end_offset = 0

    def on_append(self, node: str, *, epoch: int, base_offset: int, data: bytes, previous_epoch: int) -> None:
        """Check log matching: two logs with the same record at an offset are equal up to it (Raft, 5.3)."""
        known = self._appended.setdefault(LogPosition(epoch, base_offset), (data, previous_epoch))
        if known[0] != data:
            raise Violation(
                "log matching", f"{node} has a different batch at offset {base_offset}, epoch {epoch}"
            )
        if known[1] != previous_epoch:
            raise Violation(
                "log matching",
                f"{node} has a record of epoch {previous_epoch} before offset {base_offset} of epoch {epoch}, "
                f"where another log has one of epoch {known[1]}",
            )

    def on_leader(self, node: str, key: ReplicaKey, epoch: int) -> None:
        """Check election safety: at most one leader in an epoch."""
        known = self.leaders.get(epoch)
        if known is not None and known != key:
            raise Violation("election safety", f"{node} and {known} both lead epoch {epoch}")
        self.leaders[epoch] = key

    def check_leader_log(
        self, node: str, epoch: int, log: dict[int, tuple[int, bytes]], start_offset: int
    ) -> None:
        """Check leader completeness: a new leader has all records committed before its epoch."""
        for base_offset, committed in self.committed.items():
            if base_offset < start_offset or committed[0] >= epoch:
                continue  # in its snapshot, or committed by a later leader while it did not know
            if log.get(base_offset) != committed:
                raise Violation(
                    "leader completeness",
                    f"{node} leads epoch {epoch} without the committed batch at offset {base_offset}",
                )

    def on_commit(self, node: str, *, epoch: int, base_offset: int, next_offset: int, data: bytes) -> None:
        """Check state machine safety: no two nodes apply different records at an offset."""
        known = self.committed.setdefault(base_offset, (epoch, data))
        if known != (epoch, data):
            raise Violation(
                "state machine safety",
                f"{node} applied a batch of epoch {epoch} at offset {base_offset}, another one of epoch {known[0]}",
            )
        self.committed_end_offset = max(self.committed_end_offset, next_offset)

    def on_state(self, node: str, offset: int, digest: int) -> None:
        if self._states.setdefault(offset, digest) != digest:
            raise Violation("state machine safety", f"{node} has a different state at offset {offset}")

    def on_voters_change(
        self, node: str, offset: int, before_offset: int | None, before: VoterSet, after: VoterSet
    ) -> None:
        """Check voter sets: each differs by one voter from the one before, which is committed (KIP-853)."""
        if len({voter.key for voter in before} ^ {voter.key for voter in after}) > 1:
            raise Violation("voter sets", f"{node} changes {before} to {after} at offset {offset}")
        if before_offset is not None and before_offset >= self.committed_end_offset:
            raise Violation(
                "voter sets",
                f"{node} changes the voters at offset {offset} before the change at {before_offset} is committed",
            )
