"""Try again until it works or a deadline has passed: one loop for everything that asks a broker.

An attempt that may be repeated raises `Retry` or `Disconnected`; whatever else it raises ends the loop.
"""

import random
from collections.abc import Callable
from typing import TypeVar

from penstock.client.blocking.clock import BlockingClock
from penstock.client.blocking.errors import TimedOut
from penstock.client.blocking.settings import ClientSettings
from penstock.client.connection import Disconnected

T = TypeVar("T")

_JITTER = 0.2  # KIP-580


class Retry(Exception):
    """An attempt failed in a way that passes by itself; the text says how."""


def backoff_ms(failures: int, first_ms: float, most_ms: float, randomness: float) -> float:
    """How long to wait after so many failures: twice as long each time, give or take a fifth, bounded."""
    delay_ms = min(first_ms * (1 << min(failures - 1, 30)), most_ms)
    return delay_ms * (1 - _JITTER + 2 * _JITTER * randomness)


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
    give_up_at_ms = clock.monotonic_ms() + (settings.deadline_ms if deadline_ms is None else deadline_ms)
    failures = 0
    while True:
        try:
            return attempt()
        except (Retry, Disconnected) as failure:
            failures += 1
            delay_ms = backoff_ms(
                failures, settings.retry_backoff_ms, settings.retry_backoff_max_ms, randomness()
            )
            if clock.monotonic_ms() + delay_ms >= give_up_at_ms:
                raise TimedOut(
                    f"{what} did not work in {failures} attempts ({settings.bootstrap}): {failure}"
                ) from failure
        clock.sleep(delay_ms)
