"""A leader's view of its followers: which are in sync, and up to which offset all of them have the records. No I/O.

A follower has all records below its fetch offset on its disk. It is caught up if, within `lag_ms_max`, it had all that
the leader had at its fetch. A caught-up follower belongs in the in-sync set. A follower that fetches committed records
does not: it had them, and has lost them. The controller decides (`wanted`, `asked`, then `follow` or `refused`). Until
it has, both the current and the requested set count, so that nothing is committed that a member of either lacks.
"""

from collections.abc import Callable

import msgspec

from penstock.cluster.metadata.state import Partition

_NEVER_MS = float("-inf")
_UNKNOWN_OFFSET = -1
_EPOCH_UNKNOWN = -1


class _Follower(msgspec.Struct, eq=False):
    caught_up_ms: float
    end_offset: int = _UNKNOWN_OFFSET
    broker_epoch: int = _EPOCH_UNKNOWN
    asked_ms: float = _NEVER_MS
    leader_end_when_asked: int = _UNKNOWN_OFFSET

    def is_caught_up(self, leader_end: int, now_ms: float, lag_ms_max: int) -> bool:
        return self.end_offset >= leader_end or now_ms - self.caught_up_ms <= lag_ms_max


class WantedSet(msgspec.Struct, frozen=True, kw_only=True):
    """An in-sync set to request from the controller: brokers with the epochs in their fetches."""

    members: tuple[tuple[int, int], ...]
    leader_epoch: int
    partition_epoch: int


class Followers:
    """The followers of one partition in one leader epoch. `may_join` decides by a broker's id and epoch."""

    __slots__ = (
        "_asked",
        "_followers",
        "_in_sync",
        "_lag_ms_max",
        "_leader",
        "_leader_epoch",
        "_may_join",
        "_partition",
        "epoch_start",
    )

    def __init__(
        self,
        leader: int,
        partition: Partition,
        *,
        epoch_start: int,
        now_ms: float,
        lag_ms_max: int,
        may_join: Callable[[int, int], bool],
    ) -> None:
        self._leader = leader
        self._leader_epoch = partition.leader_epoch
        self._partition = partition
        self._in_sync = frozenset(partition.isr)
        self._asked: frozenset[int] | None = None
        self._lag_ms_max = lag_ms_max
        self._may_join = may_join
        self.epoch_start = epoch_start
        self._followers = {
            each: _Follower(now_ms if each in partition.isr else _NEVER_MS)
            for each in partition.replicas
            if each != leader
        }

    @property
    def in_sync(self) -> frozenset[int]:
        return self._in_sync

    def __contains__(self, broker_id: int) -> bool:
        return broker_id in self._followers

    def __len__(self) -> int:
        return len(self._followers)

    def follow(self, partition: Partition, now_ms: float) -> None:
        """Apply a decision of the controller within the same leader epoch."""
        if partition.partition_epoch <= self._partition.partition_epoch:
            return
        self._partition = partition
        self._in_sync = frozenset(partition.isr)
        self._asked = None
        others = [each for each in partition.replicas if each != self._leader]
        self._followers = {
            each: self._followers.get(each) or _Follower(now_ms if each in self._in_sync else _NEVER_MS)
            for each in others
        }

    def fetched(
        self, broker_id: int, broker_epoch: int, fetch_offset: int, leader_end: int, now_ms: float
    ) -> None:
        """Handle a fetch: the follower has all records below `fetch_offset` on its disk."""
        follower = self._followers[broker_id]
        if fetch_offset >= leader_end:
            follower.caught_up_ms = now_ms
        elif fetch_offset >= follower.leader_end_when_asked >= 0:
            follower.caught_up_ms = max(follower.caught_up_ms, follower.asked_ms)
        follower.end_offset = fetch_offset
        follower.broker_epoch = broker_epoch
        follower.asked_ms = now_ms
        follower.leader_end_when_asked = leader_end

    def have_ended_at(self, offset: int, since_ms: float) -> bool:
        """Whether every in-sync follower has fetched at `offset` since then: its log ends there too."""
        return all(
            each.end_offset == offset and each.asked_ms > since_ms
            for broker_id, each in self._followers.items()
            if broker_id in self._in_sync
        )

    def may_commit(self, min_isr: int) -> bool:
        """Whether the in-sync set that the controller last decided on is large enough to commit."""
        return self._partition.may_commit(min_isr)

    def too_few(self, min_isr: int) -> str:
        """Describe the in-sync set, for an error message."""
        eligible = ", ".join(map(str, self._partition.elr)) or "none"
        return (
            f"{len(self._in_sync)} in-sync replica(s), min.insync.replicas is {min_isr}, "
            f"eligible leader replicas: {eligible}"
        )

    def high_watermark(self, own_end: int, now_ms: float, min_isr: int) -> int | None:
        """The offset below which all in-sync replicas have the records; None if too few are in sync (KIP-966).

        Followers about to join count too: otherwise the watermark could keep running ahead of them.
        """
        if not self._partition.may_commit(min_isr):
            return None
        lowest = own_end
        for broker_id, follower in self._followers.items():
            if follower.end_offset < lowest and (
                self._counts(broker_id) or self._is_joining(broker_id, follower, own_end, now_ms)
            ):
                lowest = follower.end_offset
        return lowest if lowest >= 0 else None

    def _counts(self, broker_id: int) -> bool:
        return broker_id in self._in_sync or (self._asked is not None and broker_id in self._asked)

    def _is_joining(self, broker_id: int, follower: _Follower, leader_end: int, now_ms: float) -> bool:
        return (
            follower.end_offset >= 0
            and follower.is_caught_up(leader_end, now_ms, self._lag_ms_max)
            and self._may_join(broker_id, follower.broker_epoch)
        )

    def wanted(self, leader_end: int, high_watermark: int, now_ms: float) -> WantedSet | None:
        """The in-sync set to request; None when the current one is right, or a request is open."""
        if self._asked is not None:
            return None
        members = {self._leader}
        for broker_id, follower in self._followers.items():
            if broker_id in self._in_sync:
                has_lost = 0 <= follower.end_offset < high_watermark
                belongs = not has_lost and follower.is_caught_up(leader_end, now_ms, self._lag_ms_max)
            else:
                belongs = follower.end_offset >= max(high_watermark, self.epoch_start) and self._may_join(
                    broker_id, follower.broker_epoch
                )
            if belongs:
                members.add(broker_id)
        if members == self._in_sync:
            return None
        return WantedSet(
            members=tuple((each, self._epoch_of(each)) for each in sorted(members)),
            leader_epoch=self._leader_epoch,
            partition_epoch=self._partition.partition_epoch,
        )

    def _epoch_of(self, broker_id: int) -> int:
        follower = self._followers.get(broker_id)
        return _EPOCH_UNKNOWN if follower is None else follower.broker_epoch

    def asked(self, wanted: WantedSet) -> None:
        self._asked = frozenset(each for each, _ in wanted.members)

    def refused(self) -> None:
        """The controller refused the request: a new one may follow.

        Not to be called when no answer came: the controller may have agreed, and then the new set counts already.
        """
        self._asked = None

    def reaching(self, offset: int) -> list[int]:
        """The in-sync followers that have all records below `offset`, the most advanced first."""
        found = [
            (-follower.end_offset, each)
            for each, follower in self._followers.items()
            if each in self._in_sync and follower.end_offset >= offset
        ]
        return [each for _, each in sorted(found)]
