"""The invariants of the quorum, checked over all nodes at every step. `docs/replication.md` lists them.

The checker sees more than any node: it remembers all that was ever appended or committed, across crashes.
"""

from penstock.cluster.raft.values import LogPosition, ReplicaKey
from penstock.cluster.raft.voters import VoterSet


class Violation(Exception):
    """An invariant was broken."""

    def __init__(self, invariant: str, detail: str) -> None:
        super().__init__(f"{invariant}: {detail}")
        self.invariant = invariant


class RaftChecker:
    def __init__(self) -> None:
        self.leaders: dict[int, ReplicaKey] = {}
        """Who led each epoch."""
        self._appended: dict[LogPosition, tuple[bytes, int]] = {}
        """By the epoch and base offset of a batch: its bytes, and the epoch of the record before it."""
        self.committed: dict[int, tuple[int, bytes]] = {}
        """By base offset: epoch and bytes of every batch that some node knew to be committed."""
        self._states: dict[int, int] = {}
        """The state machine's digest after all below an offset was applied."""
        self.committed_end_offset = 0

    def appended(self, who: str, *, epoch: int, base_offset: int, data: bytes, previous_epoch: int) -> None:
        """Log matching: two logs with the same record at an offset are the same up to it (Raft, 5.3)."""
        known = self._appended.setdefault(LogPosition(epoch, base_offset), (data, previous_epoch))
        if known[0] != data:
            raise Violation("log matching", f"{who} has another batch at offset {base_offset}, epoch {epoch}")
        if known[1] != previous_epoch:
            raise Violation(
                "log matching",
                f"{who} has a record of epoch {previous_epoch} before offset {base_offset} of epoch {epoch}, "
                f"where another log has one of epoch {known[1]}",
            )

    def leads(self, who: str, key: ReplicaKey, epoch: int) -> bool:
        """Election safety: at most one leader in an epoch. Gives whether that is news."""
        known = self.leaders.get(epoch)
        if known is not None and known != key:
            raise Violation("election safety", f"{who} and {known} both lead epoch {epoch}")
        self.leaders[epoch] = key
        return known is None

    def led_by(self, who: str, epoch: int, log: dict[int, tuple[int, bytes]], start_offset: int) -> None:
        """Leader completeness: a new leader has all that was committed before its epoch."""
        for base_offset, committed in self.committed.items():
            if base_offset < start_offset or committed[0] >= epoch:
                continue  # in its snapshot, or committed by a later leader while it did not know
            if log.get(base_offset) != committed:
                raise Violation(
                    "leader completeness",
                    f"{who} leads epoch {epoch} without what was committed at {base_offset}",
                )

    def commits(self, who: str, *, epoch: int, base_offset: int, next_offset: int, data: bytes) -> None:
        """State machine safety: no two nodes apply different records at an offset."""
        known = self.committed.setdefault(base_offset, (epoch, data))
        if known != (epoch, data):
            raise Violation(
                "state machine safety",
                f"{who} applies a batch of epoch {epoch} at offset {base_offset}, another node one of {known[0]}",
            )
        self.committed_end_offset = max(self.committed_end_offset, next_offset)

    def state_is(self, who: str, offset: int, digest: int) -> None:
        if self._states.setdefault(offset, digest) != digest:
            raise Violation("state machine safety", f"{who} has another state at offset {offset}")

    def voters_change(
        self, who: str, offset: int, before_offset: int | None, before: VoterSet, after: VoterSet
    ) -> None:
        """Voter sets: each has one voter more or less than the one before, and that one is committed (KIP-853)."""
        if len({voter.key for voter in before} ^ {voter.key for voter in after}) > 1:
            raise Violation("voter sets", f"{who} changes {before} to {after} at offset {offset}")
        if before_offset is not None and before_offset >= self.committed_end_offset:
            raise Violation(
                "voter sets",
                f"{who} changes the voters at offset {offset}, and the change at {before_offset} is not committed",
            )
