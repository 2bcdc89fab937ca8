"""Deadlines of the members of a group. A member that misses one is removed."""

import enum
import math

from penstock.groups.base.instant import Instant

NEVER = math.inf


class Awaited(enum.Enum):
    """The action that a member must take before a deadline."""

    HEARTBEAT = enum.auto()  # within the session timeout
    REVOCATION = enum.auto()  # of partitions, within the rebalance timeout
    JOIN = enum.auto()  # by a classic member, when its heartbeat was answered with a rebalance
    SYNC = enum.auto()  # by a classic member, after its join


class MemberTimers:
    """`wake_at_ms` is never later than the earliest deadline; `overdue` finds the deadlines that have passed."""

    __slots__ = ("_deadlines_ms", "wake_at_ms")

    def __init__(self) -> None:
        self._deadlines_ms: dict[str, dict[Awaited, float]] = {}
        self.wake_at_ms = NEVER

    def start(self, member_id: str, awaited: Awaited, now: Instant, timeout_ms: int) -> None:
        deadline_ms = now.monotonic_ms + timeout_ms
        self._deadlines_ms.setdefault(member_id, {})[awaited] = deadline_ms
        self.wake_at_ms = min(self.wake_at_ms, deadline_ms)

    def start_if_stopped(self, member_id: str, awaited: Awaited, now: Instant, timeout_ms: int) -> None:
        if awaited not in self._deadlines_ms.get(member_id, ()):
            self.start(member_id, awaited, now, timeout_ms)

    def stop(self, member_id: str, awaited: Awaited) -> None:
        self._deadlines_ms.get(member_id, {}).pop(awaited, None)

    def remove(self, member_id: str) -> None:
        self._deadlines_ms.pop(member_id, None)

    def overdue(self, now_ms: float) -> list[str]:
        """Return the members that missed a deadline, and update `wake_at_ms`."""
        next_ms = {
            member_id: min(each.values(), default=NEVER) for member_id, each in self._deadlines_ms.items()
        }
        self.wake_at_ms = min((each for each in next_ms.values() if each > now_ms), default=NEVER)
        return [member_id for member_id, each in next_ms.items() if each <= now_ms]
