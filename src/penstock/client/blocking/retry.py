"""Try again until it works or a deadline has passed: one loop for everything that asks a broker.

An attempt that may be repeated raises `Retry` or `Disconnected`; whatever else it raises ends the loop.
"""

import random
from collections.abc import Callable
from typing import TypeVar

from penstock.client.blocking.clock import BlockingClock
from penstock.client.connection import Disconnected
from penstock.client.errors import TimedOut
from penstock.client.settings import ClientSettings

T = TypeVar("T")

_JITTER = 0.2  # KIP-580


class Retry(Exception):
    """An attempt failed in a way that passes by itself; the text says how."""


def backoff_ms(failures: int, first_ms: float, most_ms: float, randomness: float) -> float:
    """How long to wait after so many failures: twice as long each time, give or take a fifth, bounded."""
    delay_ms = min(first_ms * (1 << min(failures - 1, 30)), most_ms)
    return delay_ms * (1 - _JITTER + 2 * _JITTER * randomness)


class Patience:
    """How long failures are put up with: waits between attempts, and gives up at a deadline."""

    def __init__(
        self,
        what: str,
        *,
        settings: ClientSettings,
        clock: BlockingClock,
        deadline_ms: float | None = None,
        randomness: Callable[[], float] = random.random,
    ) -> None:
        self._what = what
        self._settings = settings
        self._clock = clock
        self._deadline_ms = settings.deadline_ms if deadline_ms is None else deadline_ms
        self._randomness = randomness
        self.worked()

    def worked(self) -> None:
        """Something went well: the deadline counts from now."""
        self._failures = 0
        self._give_up_at_ms = self._clock.monotonic_ms() + self._deadline_ms

    def failed(self, failure: Exception) -> None:
        """Wait before the next attempt; `TimedOut` when there is no time for one."""
        self._failures += 1
        settings = self._settings
        delay_ms = backoff_ms(
            self._failures, settings.retry_backoff_ms, settings.retry_backoff_max_ms, self._randomness()
        )
        if self._clock.monotonic_ms() + delay_ms >= self._give_up_at_ms:
            raise TimedOut(
                f"{self._what} did not work in {self._failures} attempts ({settings.bootstrap}): {failure}"
            ) from failure
        self._clock.sleep(delay_ms)


def until_done(
    what: str,
    attempt: Callable[[], T],
    *,
    settings: ClientSettings,
    clock: BlockingClock,
    deadline_ms: float | None = None,
    randomness: Callable[[], float] = random.random,
) -> T:
    """The result of the first attempt that works; `TimedOut` when none has until `deadline_ms` from now."""
    patience = Patience(what, settings=settings, clock=clock, deadline_ms=deadline_ms, randomness=randomness)
    while True:
        try:
            return attempt()
        except (Retry, Disconnected) as failure:
            patience.failed(failure)
