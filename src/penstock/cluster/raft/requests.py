"""Requests in flight: at most one of each kind to each node, with a deadline, and a back-off after a failure."""

from typing import NamedTuple


class InFlight(NamedTuple):
    to: int
    kind: type
    deadline_ms: float


class Requests:
    def __init__(self, timeout_ms: int, backoff_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._backoff_ms = backoff_ms
        self._last_id = 0
        self._in_flight: dict[int, InFlight] = {}
        self._not_before_ms: dict[tuple[int, type], float] = {}

    def is_ready(self, to: int, kind: type, now_ms: float) -> bool:
        if any(each.to == to and each.kind is kind for each in self._in_flight.values()):
            return False
        return now_ms >= self._not_before_ms.get((to, kind), 0)

    def is_any_in_flight(self, kind: type) -> bool:
        return any(each.kind is kind for each in self._in_flight.values())

    def begin(self, to: int, kind: type, now_ms: float) -> int:
        """Record a request that is sent now; returns its id."""
        self._last_id += 1
        self._in_flight[self._last_id] = InFlight(to, kind, now_ms + self._timeout_ms)
        return self._last_id

    def end(self, request_id: int, now_ms: float, *, is_failed: bool) -> InFlight | None:
        """A request was answered or has failed; None when it is no longer in flight."""
        ended = self._in_flight.pop(request_id, None)
        if ended is not None:
            key = (ended.to, ended.kind)
            if is_failed:
                self._not_before_ms[key] = now_ms + self._backoff_ms
            else:
                self._not_before_ms.pop(key, None)
        return ended

    def back_off(self, to: int, kind: type, until_ms: float) -> None:
        self._not_before_ms[to, kind] = until_ms

    def expire(self, now_ms: float) -> None:
        for request_id, each in list(self._in_flight.items()):
            if each.deadline_ms <= now_ms:
                self.end(request_id, now_ms, is_failed=True)

    def forget_all(self) -> None:
        """The state has changed: answers to earlier requests are ignored."""
        self._in_flight.clear()
        self._not_before_ms.clear()

    def next_deadline_ms(self, now_ms: float) -> float:
        deadlines = [each.deadline_ms for each in self._in_flight.values()]
        backoffs = [each for each in self._not_before_ms.values() if each > now_ms]
        return min([*deadlines, *backoffs], default=float("inf"))
