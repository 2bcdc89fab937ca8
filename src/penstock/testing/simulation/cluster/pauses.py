"""Pauses that a broker makes by the clock: in a simulation the seed decides when, and how much happens meanwhile.

While a broker takes in a change of the metadata it lets the event loop serve others after every few milliseconds.
Nothing takes any time on a simulated loop, so there would be no such pause at all, and nothing would ever come in
between.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from penstock.cluster import replicas
from penstock.testing.simulation.loop import SimulatedLoop

_PAUSE_CHANCE = 0.5
_PAUSE_S_MAX = 0.1


@contextlib.contextmanager
def pausing(loop: SimulatedLoop) -> Iterator[None]:
    pace = replicas._Pace  # noqa: SLF001 - it is nobody else's
    original = pace.breathe

    async def breathe(_pace: object) -> None:
        if loop.random.random() < _PAUSE_CHANCE:
            await asyncio.sleep(loop.random.uniform(0, _PAUSE_S_MAX))

    pace.breathe = breathe  # type: ignore[method-assign,assignment]  # put back below
    try:
        yield
    finally:
        pace.breathe = original  # type: ignore[method-assign]
