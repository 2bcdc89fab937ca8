"""Compaction rate limit: `log.cleaner.io.max.bytes.per.second`, for reads and writes together as in Kafka."""

import time
from collections.abc import Callable
from typing import Final

POLL_INTERVAL_S: Final = 0.25
"""The longest time for which a change of the rate may go unnoticed."""

_NAP_S_MIN: Final = 0.05
_RATE_MIN: Final = 1.0


class Pace:
    """Sleeps after reads and writes to keep to the rate. Used by one thread."""

    __slots__ = ("_bytes_per_second", "_now_s", "_owed_bytes", "_polled_s", "_sleep")

    def __init__(
        self,
        bytes_per_second: Callable[[], float],
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """The rate is looked up repeatedly, even during a sleep: it may change meanwhile."""
        self._bytes_per_second = bytes_per_second
        self._now_s = now_s
        self._sleep = sleep
        self._owed_bytes = 0.0
        self._polled_s = now_s()

    def spend(self, size_bytes: int) -> None:
        """Account for bytes read or written. A debt below the shortest sleep is carried over to the next call."""
        self._owed_bytes += size_bytes
        while (owed_s := self._owed_s()) >= _NAP_S_MIN:
            self._sleep(min(owed_s, POLL_INTERVAL_S))

    def _owed_s(self) -> float:
        """Elapsed time reduces the debt at the current rate; no credit accumulates."""
        now_s, rate = self._now_s(), max(_RATE_MIN, self._bytes_per_second())
        self._owed_bytes = max(0.0, self._owed_bytes - (now_s - self._polled_s) * rate)
        self._polled_s = now_s
        return self._owed_bytes / rate
