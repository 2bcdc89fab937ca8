"""Exponential backoff until a deadline (KIP-580). Pure: the caller sleeps."""

import random
from collections.abc import Callable

from penstock.client.errors import TimedOut
from penstock.client.settings import ClientSettings

_JITTER = 0.2


def backoff_ms(failures: int, first_ms: float, most_ms: float, randomness: float) -> float:
    """The delay after this many failures: twice as long each time, ±20 % at random, bounded."""
    delay_ms = min(first_ms * (1 << min(failures - 1, 30)), most_ms)
    return delay_ms * (1 - _JITTER + 2 * _JITTER * randomness)


class Backoff:
    """Computes the delays between attempts of one operation, and gives up at its deadline."""

    def __init__(
        self,
        what: str,
        settings: ClientSettings,
        monotonic_ms: Callable[[], float],
        *,
        deadline_ms: float | None = None,
        randomness: Callable[[], float] = random.random,
    ) -> None:
        self._what = what
        self._settings = settings
        self._monotonic_ms = monotonic_ms
        self._deadline_ms = settings.deadline_ms if deadline_ms is None else deadline_ms
        self._randomness = randomness
        self.reset()

    def reset(self) -> None:
        """An attempt succeeded: the deadline counts from now."""
        self._failures = 0
        self._give_up_at_ms = self._monotonic_ms() + self._deadline_ms

    def delay_after(self, failure: Exception) -> float:
        """The milliseconds to wait before the next attempt. Raises `TimedOut` when there is no time for one."""
        self._failures += 1
        settings = self._settings
        delay_ms = backoff_ms(
            self._failures, settings.retry_backoff_ms, settings.retry_backoff_max_ms, self._randomness()
        )
        if self._monotonic_ms() + delay_ms >= self._give_up_at_ms:
            raise TimedOut(
                f"{self._what} failed in {self._failures} attempts ({settings.bootstrap}): {failure}"
            ) from failure
        return delay_ms
