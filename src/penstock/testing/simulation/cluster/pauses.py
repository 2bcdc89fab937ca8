"""Pauses that a broker makes by the clock: in a simulation the seed decides when, and how much happens meanwhile.

While a broker takes in a change of the metadata it lets the event loop serve others after every few milliseconds.
Nothing takes any time on a simulated loop, so there would be no such pause at all, and nothing would ever come in
between. A truncation that waits for a checkpoint waits as long as a fault wants it to.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from penstock.cluster import replicas
from penstock.storage.log.log import Log
from penstock.storage.log_store import LogStore
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.nodes import current_node

_PAUSE_CHANCE = 0.5
_PAUSE_S_MAX = 0.1


@contextlib.contextmanager
def pausing(loop: SimulatedLoop) -> Iterator[None]:
    pace = replicas._Pace  # noqa: SLF001 - it is nobody else's
    originals = pace.breathe, LogStore.allow_truncation

    async def breathe(_pace: object) -> None:
        if loop.random.random() < _PAUSE_CHANCE:
            await asyncio.sleep(loop.random.uniform(0, _PAUSE_S_MAX))

    async def allow_truncation_in_time(store: LogStore, log: Log, offset: int) -> None:
        began_s = loop.time()
        await originals[1](store, log, offset)
        slow = loop.slow_checkpoints.get(current_node.get())
        if slow is not None and loop.time() > began_s:  # it did not do without the disk
            await slow.wait()

    pace.breathe = breathe  # type: ignore[method-assign,assignment]  # put back below
    LogStore.allow_truncation = allow_truncation_in_time  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        pace.breathe, LogStore.allow_truncation = originals  # type: ignore[method-assign]
