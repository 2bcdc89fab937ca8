"""The same thing over and over is told once in a while: a client that cannot get in tries twenty times in a second."""

from collections.abc import Hashable

from penstock.observability.clock import Clock

_EVERY_MS = 60_000
_KEYS_MAX = 1024


class Seldom:
    def __init__(self, clock: Clock, every_ms: int = _EVERY_MS) -> None:
        self._clock = clock
        self._every_ms = every_ms
        self._told: dict[Hashable, tuple[float, int]] = {}  # when, and how many were kept back since

    def times(self, key: Hashable) -> int:
        """How many times it happened since it was told last, this one included; 0 when it is not to be told now."""
        now_ms = self._clock.monotonic_ms()
        told_ms, kept_back = self._told.get(key, (None, 0))
        if told_ms is not None and now_ms - told_ms < self._every_ms:
            self._told[key] = (told_ms, kept_back + 1)
            return 0
        if len(self._told) >= _KEYS_MAX:
            self._told.clear()
        self._told[key] = (now_ms, 0)
        return kept_back + 1
