"""Limits the bytes a second that one broker copies for one mirror."""

from collections.abc import Callable

from penstock.cluster.replica import Replica
from penstock.cluster.throttle import MeanRate
from penstock.runtime.clock import Clock

_SAMPLES, _SAMPLE_MS = 10, 1000


class MirrorThrottle:
    def __init__(self, bytes_per_second_max: Callable[[], int], clock: Clock) -> None:
        """0 is no limit."""
        self._bytes_per_second_max = bytes_per_second_max
        self._clock = clock
        self._rate = MeanRate(_SAMPLES, _SAMPLE_MS)
        self.copied_bytes = 0

    def holds_back(self, replica: Replica, follower: int) -> bool:  # noqa: ARG002
        limit = self._bytes_per_second_max()
        return limit > 0 and self._rate.per_second(self._clock.monotonic_ms()) > limit

    def record(self, replica: Replica, size_bytes: int) -> None:  # noqa: ARG002
        self.copied_bytes += size_bytes
        self._rate.record(size_bytes, self._clock.monotonic_ms())
