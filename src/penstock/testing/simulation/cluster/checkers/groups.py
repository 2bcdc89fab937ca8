"""What a group promises: a partition belongs to one member at a time, and committed offsets do not go back.

A member that nobody hears of must give up its partitions when its session ends: it counts that from the last heartbeat
that was answered, the coordinator from when it came, which is not before. So their times may be compared: the
simulation has one clock.

That holds for one coordinator. A new coordinator gives every member a session from the moment at which it has loaded
the group. The old coordinator answers heartbeats until it hears that it was replaced: a heartbeat that changes nothing
is answered without a write to the log, and the new coordinator never learns of it (seed 43144). Kafka does the same:
`CoordinatorRuntime` completes an operation without records at once, and `GroupMetadataManager.onLoaded` starts every
session again. So the answer of a replaced coordinator counts at most from when the first newer one had loaded.

A member that is to give something up is removed when it has not said that it did within the rebalance timeout, which
the coordinator counts from when it decided so (KIP-848, and so does Kafka). The first answer that said so may be lost,
and a later one tells nothing of how long ago that was: only that it was after the answer before (seed 1526).

A commit that was not answered may still be under way when a later one is. It is excused for going back to that, for
as long as the connection that it was sent on may live.
"""

from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.checkers.verdict import Verdict

_LATE_S = 5.0


class GroupChecker:
    """Of one group."""

    def __init__(self, verdict: Verdict, session_s: float, rebalance_s: float) -> None:
        self._verdict = verdict
        self._session_s = session_s
        self._rebalance_s = rebalance_s
        self._owned: dict[str, set[PartitionName]] = {}
        self._heard: dict[str, tuple[float, int]] = {}
        """When the last heartbeat that was answered was sent, and the epoch of the coordinator that answered it."""
        self._heard_before_s: dict[str, float] = {}
        self._loaded_s: dict[int, float] = {}
        """When the coordinator of an epoch first had the group loaded."""
        self._epochs: dict[str, int] = {}
        """In which epoch a node last had the group loaded."""
        self._confirms_by_s: dict[str, float] = {}
        self._committed: dict[PartitionName, tuple[int, float]] = {}
        self._in_doubt: dict[PartitionName, list[tuple[int, float]]] = {}
        self.handover_count = 0

    # -- ownership ------------------------------------------------------------------------------------

    def is_loaded(self, node: str, epoch: int, now_s: float) -> None:
        """A node begins to coordinate the group, in this epoch of the leadership."""
        self._loaded_s.setdefault(epoch, now_s)
        self._epochs[node] = epoch

    def is_member(self, member: str, heartbeat_sent_s: float, coordinator: str) -> None:
        """A heartbeat was answered: until a session after it was sent this coordinator cannot have given it up."""
        before_s = self._counts_from_s(member) if member in self._heard else heartbeat_sent_s
        self._heard_before_s[member] = before_s
        self._heard[member] = (heartbeat_sent_s, self._epochs[coordinator])
        self._confirms_by_s.pop(member, None)

    def is_to_give_up(self, member: str) -> None:
        """The same answer takes something away: the next heartbeat that is answered confirms that."""
        self._confirms_by_s[member] = self._heard_before_s[member] + self._rebalance_s

    def _counts_from_s(self, member: str) -> float:
        """From when on the last answer counts, for the coordinator that answered and for all that came after it."""
        sent_s, epoch = self._heard[member]
        return min([sent_s, *(loaded_s for newer, loaded_s in self._loaded_s.items() if newer > epoch)])

    def _is_sure_of_its_own(self, member: str, now_s: float) -> bool:
        ends_s = self._counts_from_s(member) + self._session_s
        return now_s < min(ends_s, self._confirms_by_s.get(member, ends_s))

    def takes(self, member: str, partition: PartitionName, now_s: float) -> None:
        if now_s >= self._counts_from_s(member) + self._session_s:
            return  # the answer took so long that it is none any more
        for other, owned in self._owned.items():
            if other == member or partition not in owned:
                continue
            if self._is_sure_of_its_own(other, now_s):
                self._fail("single ownership", partition, f"{member} is given what {other} still owns")
            owned.discard(partition)
        self._owned.setdefault(member, set()).add(partition)
        self.handover_count += 1

    def gives_up(self, member: str, partition: PartitionName) -> None:
        self._owned.get(member, set()).discard(partition)

    # -- offsets --------------------------------------------------------------------------------------

    def commits(self, partition: PartitionName, offset: int, now_s: float) -> None:
        """A commit is about to be sent."""
        self._in_doubt.setdefault(partition, []).append((offset, now_s))

    def refused(self, partition: PartitionName, offset: int) -> None:
        """It was answered: nothing was committed."""
        self._in_doubt[partition] = [each for each in self._in_doubt[partition] if each[0] != offset]

    def committed(self, partition: PartitionName, offset: int, sent_s: float) -> None:
        self._committed[partition] = (offset, sent_s)

    def finds(self, partition: PartitionName, offset: int, asked_s: float) -> None:
        """Somebody asked what is committed; -1 is nothing."""
        known, sent_s = self._committed.get(partition, (-1, 0.0))
        if offset >= known or asked_s < sent_s:
            return
        doubtful = [each for each in self._in_doubt.get(partition, []) if each[0] == offset]
        if any(each_s > sent_s - _LATE_S for _, each_s in doubtful):
            self._committed[partition] = (offset, sent_s)
        else:
            self._fail("committed offsets", partition, f"{known} was committed, and {offset} is found")

    def _fail(self, invariant: str, partition: PartitionName, detail: str) -> None:
        self._verdict.fail(invariant, f"{partition[0]}-{partition[1]}: {detail}")
