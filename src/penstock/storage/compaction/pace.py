"""How fast compaction may go: `log.cleaner.io.max.bytes.per.second`, of reading and writing together as in Kafka."""

import time
from collections.abc import Callable
from typing import Final

LOOK_AGAIN_S: Final = 0.25
"""How long a change of the rate may stay unnoticed."""

_NAP_S_MIN: Final = 0.05
_RATE_MIN: Final = 1.0


class Pace:
    """Sleeps off what was read and written. One thread uses it."""

    __slots__ = ("_bytes_per_second", "_looked_s", "_now_s", "_owed_bytes", "_sleep")

    def __init__(
        self,
        bytes_per_second: Callable[[], float],
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """The rate is looked up again and again, also during a sleep: it may change meanwhile."""
        self._bytes_per_second = bytes_per_second
        self._now_s = now_s
        self._sleep = sleep
        self._owed_bytes = 0.0
        self._looked_s = now_s()

    def spend(self, size_bytes: int) -> None:
        """So much was read or written. What is owed for less than a nap is slept off with what follows."""
        self._owed_bytes += size_bytes
        while (owed_s := self._owed_s()) >= _NAP_S_MIN:
            self._sleep(min(owed_s, LOOK_AGAIN_S))

    def _owed_s(self) -> float:
        """Time that has passed pays at the rate of now; none is saved up."""
        now_s, rate = self._now_s(), max(_RATE_MIN, self._bytes_per_second())
        self._owed_bytes = max(0.0, self._owed_bytes - (now_s - self._looked_s) * rate)
        self._looked_s = now_s
        return self._owed_bytes / rate
