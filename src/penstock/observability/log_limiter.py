"""Rate-limited logging: a client that cannot connect retries twenty times a second."""

from collections.abc import Hashable

from penstock.runtime.clock import Clock

_EVERY_MS = 60_000
_KEYS_MAX = 1024


class LogLimiter:
    def __init__(self, clock: Clock, every_ms: int = _EVERY_MS) -> None:
        self._clock = clock
        self._every_ms = every_ms
        self._logged: dict[Hashable, tuple[float, int]] = {}  # when, and how many were suppressed since

    def times(self, key: Hashable) -> int:
        """The number of events since the last logged one, this one included; 0: do not log this one."""
        now_ms = self._clock.monotonic_ms()
        logged_ms, suppressed = self._logged.get(key, (None, 0))
        if logged_ms is not None and now_ms - logged_ms < self._every_ms:
            self._logged[key] = (logged_ms, suppressed + 1)
            return 0
        if len(self._logged) >= _KEYS_MAX:
            self._logged.clear()
        self._logged[key] = (now_ms, 0)
        return suppressed + 1
