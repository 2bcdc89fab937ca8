"""Checks a consumer group: a partition belongs to one member at a time, and committed offsets do not go back.

A member that gets no answers must give up its partitions when its session ends. It counts the session from when it
sent the last heartbeat that was answered, the coordinator from when that arrived, which is not earlier. The
simulation has one clock, so their times can be compared.

That holds for one coordinator. A new coordinator starts every session when it has loaded the group. The old one
answers heartbeats until it learns that it was replaced: a heartbeat that changes nothing is answered without a write
to the log, and the new coordinator never learns of it (seed 43144). Kafka does the same: `CoordinatorRuntime`
completes an operation without records at once, and `GroupMetadataManager.onLoaded` restarts every session. So the
answer of a replaced coordinator counts at most from when the first newer one had loaded.

A member that has to release a partition is removed unless it confirms the release within the rebalance timeout, which
the coordinator counts from its decision (KIP-848, as in Kafka). The first answer with that decision may be lost, and
a later one does not show its age: only that it is younger than the answer before (seed 1526).

A commit without an answer may be carried out after a later one, while its connection may live. A replaced
coordinator need not know the commits that the new one has acknowledged (`coordinators.py`).
"""

from penstock_simulation.cluster.checkers.checker import LATE_REQUEST_S, Checker
from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms, last_epoch_before
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.violation import ViolationLog


class GroupChecker(Checker):
    def __init__(
        self, violations: ViolationLog, coordinators: CoordinatorTerms, session_s: float, rebalance_s: float
    ) -> None:
        super().__init__(violations)
        self._coordinators = coordinators
        self._session_s = session_s
        self._rebalance_s = rebalance_s
        self._owned: dict[str, set[PartitionName]] = {}
        self._heartbeats: dict[str, tuple[float, int]] = {}
        """When the last answered heartbeat was sent, and the epoch of the coordinator that answered it."""
        self._previous_s: dict[str, float] = {}
        """When the answered heartbeat before that one was sent."""
        self._release_by_s: dict[str, float] = {}
        self._committed: dict[PartitionName, dict[int, tuple[int, float]]] = {}
        """The last acknowledged commit in each epoch of the coordinator, and when it was sent."""
        self._unanswered: dict[PartitionName, list[tuple[int, float]]] = {}
        self.assignment_count = 0

    # -- ownership ------------------------------------------------------------------------------------

    def on_heartbeat(self, member: str, sent_s: float, coordinator: str) -> None:
        """A heartbeat was answered: this coordinator keeps the member for a session after it was sent."""
        self._previous_s[member] = self._counts_from_s(member) if member in self._heartbeats else sent_s
        self._heartbeats[member] = (sent_s, self._coordinators.latest_epoch(coordinator))
        self._release_by_s.pop(member, None)

    def on_revoked(self, member: str) -> None:
        """The same answer revokes a partition: the next answered heartbeat confirms the release."""
        self._release_by_s[member] = self._previous_s[member] + self._rebalance_s

    def _counts_from_s(self, member: str) -> float:
        """Return when the session began, for the coordinator that answered last and for all later ones."""
        sent_s, epoch = self._heartbeats[member]
        return min([sent_s, *self._coordinators.newer_loaded_s(epoch)])

    def _is_owner(self, member: str, now_s: float) -> bool:
        ends_s = self._counts_from_s(member) + self._session_s
        return now_s < min(ends_s, self._release_by_s.get(member, ends_s))

    def on_assigned(self, member: str, partition: PartitionName, now_s: float) -> None:
        if now_s >= self._counts_from_s(member) + self._session_s:
            return  # the answer arrived after the session had ended
        for other, owned in self._owned.items():
            if other == member or partition not in owned:
                continue
            if self._is_owner(other, now_s):
                detail = f"assigned to {member} while {other} still owns it"
                self._fail("single ownership", partition, detail)
            owned.discard(partition)
        self._owned.setdefault(member, set()).add(partition)
        self.assignment_count += 1

    def on_released(self, member: str, partition: PartitionName) -> None:
        self._owned.get(member, set()).discard(partition)

    # -- offsets --------------------------------------------------------------------------------------

    def on_commit_sent(self, partition: PartitionName, offset: int, now_s: float) -> None:
        self._unanswered.setdefault(partition, []).append((offset, now_s))

    def on_commit_rejected(self, partition: PartitionName, offset: int, sent_s: float) -> None:
        """Nothing was committed. An earlier try of the same offset may still be."""
        self._unanswered[partition].remove((offset, sent_s))

    def on_committed(self, partition: PartitionName, offset: int, sent_s: float, coordinator: str) -> None:
        """The offset was committed. An earlier try of the same offset may still be carried out."""
        self._unanswered[partition].remove((offset, sent_s))
        epoch = self._coordinators.latest_epoch(coordinator)
        self._committed.setdefault(partition, {})[epoch] = (offset, sent_s)

    def on_fetched(self, partition: PartitionName, offset: int, asked_s: float, coordinator: str) -> None:
        """Check the committed offset that a coordinator returned; -1 is none."""
        committed = self._committed.get(partition, {})
        epoch = last_epoch_before(committed, self._coordinators.earliest_epoch(coordinator, asked_s))
        if epoch is None:
            return
        known, sent_s = committed[epoch]
        if offset >= known or asked_s < sent_s:
            return
        tries_s = [tried_s for tried, tried_s in self._unanswered.get(partition, []) if tried == offset]
        if any(tried_s > sent_s - LATE_REQUEST_S for tried_s in tries_s):
            committed[epoch] = (offset, sent_s)
        else:
            detail = f"offset {known} was committed, but {offset} is returned"
            self._fail("committed offsets", partition, detail)
