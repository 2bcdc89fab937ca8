"""The delay of the event loop: how long a due timer waits for running callbacks.

A timer is set again and again; its delay is the time that callbacks before it took.
"""

import asyncio

from penstock.observability.exposition import Histogram

_INTERVAL_SECONDS = 0.1
_BOUNDS_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class LoopLag:
    def __init__(self) -> None:
        self.seconds = Histogram(_BOUNDS_SECONDS)
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._wait(asyncio.get_running_loop())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + _INTERVAL_SECONDS
        self._timer = loop.call_at(due, self._fired, loop, due)

    def _fired(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.seconds.observe(max(0.0, loop.time() - due))
        self._wait(loop)
