"""A rate limit of failed logins for each address: ten at once, then one in six seconds.

A login counts when it begins and is uncounted when it succeeds, so parallel attempts cannot exceed the limit.
"""

from penstock.runtime.clock import Clock

FAILURES_MAX = 10
_FAILURE_MS = 6_000
_ADDRESSES_MAX = 4096


class LoginLimit:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._forgotten_at_ms: dict[str, float] = {}

    def begin(self, address: str) -> float:
        """Count a login and return 0, or return the milliseconds that the address must wait."""
        now_ms = self._clock.monotonic_ms()
        at_ms = max(self._forgotten_at_ms.get(address, now_ms), now_ms) + _FAILURE_MS
        wait_ms = at_ms - now_ms - FAILURES_MAX * _FAILURE_MS
        if wait_ms > 0:
            return wait_ms
        if address not in self._forgotten_at_ms and len(self._forgotten_at_ms) >= _ADDRESSES_MAX:
            del self._forgotten_at_ms[min(self._forgotten_at_ms, key=self._forgotten_at_ms.__getitem__)]
        self._forgotten_at_ms[address] = at_ms
        return 0.0

    def succeeded(self, address: str) -> None:
        """Uncount a login."""
        at_ms = self._forgotten_at_ms.get(address, 0.0) - _FAILURE_MS
        if at_ms > self._clock.monotonic_ms():
            self._forgotten_at_ms[address] = at_ms
        else:
            self._forgotten_at_ms.pop(address, None)
