"""The closed loop of a measurement: one action after the other, for a time."""

import time
from collections.abc import Callable


def repeat_for(duration_s: float, action: Callable[[], object]) -> list[float]:
    """Repeat the action for that time, and return the seconds that each repetition took."""
    latencies: list[float] = []
    clock = time.perf_counter
    now = clock()
    end = now + duration_s
    while now < end:
        action()
        done = clock()
        latencies.append(done - now)
        now = done
    return latencies
