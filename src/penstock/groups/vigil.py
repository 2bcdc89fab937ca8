"""Groups that wait for their members, and what happens to those who are late."""

import math
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from penstock.cluster.coordination.deadlines import Deadlines
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.groups.consumer.timers import Timers
from penstock.groups.shard import GroupShard
from penstock.observability.clock import Clock

Shard = CoordinatorPartition[GroupShard]


class _Waiting(Hashable, Protocol):
    timers: Timers

    @property
    def wake_at_ms(self) -> float: ...


G = TypeVar("G", bound=_Waiting)


class Vigil(Generic[G]):
    """`remove` is told who is late; whoever writes a group afterwards has it watched again."""

    def __init__(self, clock: Clock, remove: Callable[[Shard, G, list[str]], None]) -> None:
        self._clock = clock
        self._remove = remove
        self._homes: dict[G, Shard] = {}
        self._deadlines: Deadlines[G] = Deadlines(clock, self._wake)

    def watch(self, shard: Shard, group: G) -> None:
        if group.wake_at_ms < math.inf:
            self._homes[group] = shard
            self._deadlines.wake_by(group, group.wake_at_ms)

    def forget(self, group: G) -> None:
        """It went to another broker, or is a group of another kind now."""
        self._homes.pop(group, None)

    def stop(self) -> None:
        self._deadlines.stop()

    def _wake(self, group: G) -> float:
        shard = self._homes.pop(group, None)
        if shard is None:
            return math.inf
        late = group.timers.overdue(self._clock.monotonic_ms())
        if late:
            self._remove(shard, group, late)
        else:
            self.watch(shard, group)
        return group.wake_at_ms if group in self._homes else math.inf
