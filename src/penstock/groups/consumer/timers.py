"""Until when a KIP-848 group waits for its members. A member that is late is removed."""

import math

from penstock.groups.moment import Moment

NEVER = math.inf


class _Waiting:
    __slots__ = ("join_ms", "revocation_ms", "session_ms", "sync_ms")

    def __init__(self) -> None:
        self.session_ms = NEVER
        self.revocation_ms = NEVER
        self.join_ms = NEVER
        self.sync_ms = NEVER

    @property
    def next_ms(self) -> float:
        return min(self.session_ms, self.revocation_ms, self.join_ms, self.sync_ms)


class Timers:
    """`wake_at_ms` is never later than the earliest deadline; `overdue` finds those that have passed."""

    __slots__ = ("_waiting", "wake_at_ms")

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}
        self.wake_at_ms = NEVER

    def expect(self, member_id: str, moment: Moment, timeout_ms: int) -> None:
        """The next sign of life is due within the session timeout."""
        self._of(member_id).session_ms = self._at(moment, timeout_ms)

    def await_revocation(self, member_id: str, moment: Moment, timeout_ms: int) -> None:
        """It has its rebalance timeout to give up what it was told to."""
        self._of(member_id).revocation_ms = self._at(moment, timeout_ms)

    def revoked(self, member_id: str) -> None:
        self._of(member_id).revocation_ms = NEVER

    def await_join(self, member_id: str, moment: Moment, timeout_ms: int) -> None:
        """A classic member was told to join again; the time runs from the first time it was."""
        waiting = self._of(member_id)
        if waiting.join_ms == NEVER:
            waiting.join_ms = self._at(moment, timeout_ms)

    def await_sync(self, member_id: str, moment: Moment, timeout_ms: int) -> None:
        waiting = self._of(member_id)
        waiting.join_ms = NEVER
        waiting.sync_ms = self._at(moment, timeout_ms)

    def synced(self, member_id: str) -> None:
        self._of(member_id).sync_ms = NEVER

    def forget(self, member_id: str) -> None:
        self._waiting.pop(member_id, None)

    def overdue(self, now_ms: float) -> list[str]:
        """Who is late; finds also when to look again."""
        late = [member_id for member_id, each in self._waiting.items() if each.next_ms <= now_ms]
        self.wake_at_ms = min(
            (each.next_ms for each in self._waiting.values() if each.next_ms > now_ms), default=NEVER
        )
        return late

    def _of(self, member_id: str) -> _Waiting:
        waiting = self._waiting.get(member_id)
        if waiting is None:
            waiting = self._waiting[member_id] = _Waiting()
        return waiting

    def _at(self, moment: Moment, timeout_ms: int) -> float:
        deadline_ms = moment.monotonic_ms + timeout_ms
        self.wake_at_ms = min(self.wake_at_ms, deadline_ms)
        return deadline_ms
