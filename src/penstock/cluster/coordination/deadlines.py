"""One timer task for the deadlines of many objects."""

import asyncio
import heapq
import itertools
import logging
import math
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from penstock.runtime.clock import Clock

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)


class Deadlines(Generic[K]):
    """Calls `act` with a key when its deadline has passed; `act` returns the next deadline, or infinity."""

    def __init__(self, clock: Clock, act: Callable[[K], float]) -> None:
        self._clock = clock
        self._act = act
        self._times: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []  # may hold old deadlines; those in `_times` count
        self._order = itertools.count()
        self._sleeper: asyncio.Task[None] | None = None
        self._sleeps_until = math.inf

    def wake_by(self, key: K, time_ms: float) -> None:
        """Call `act` for `key` no later than this. A later deadline than the known one changes nothing."""
        if time_ms >= self._times.get(key, math.inf):
            return
        self._times[key] = time_ms
        heapq.heappush(self._heap, (time_ms, next(self._order), key))
        if time_ms < self._sleeps_until:
            self.stop()
            self._sleeps_until = time_ms
            self._sleeper = asyncio.get_running_loop().create_task(self._run(), name="deadlines")

    def stop(self) -> None:
        if self._sleeper is not None:
            self._sleeper.cancel()
            self._sleeper = None

    async def _run(self) -> None:
        while self._heap:
            self._sleeps_until = self._heap[0][0]
            delay_ms = self._sleeps_until - self._clock.monotonic_ms()
            if delay_ms > 0:
                await self._clock.sleep(delay_ms)
            # `wake_by` need not restart this task while it handles keys: it looks at the heap again afterwards.
            self._sleeps_until = -math.inf
            self._handle_due()
        self._sleeps_until = math.inf
        self._sleeper = None

    def _handle_due(self) -> None:
        now_ms = self._clock.monotonic_ms()
        while self._heap and self._heap[0][0] <= now_ms:
            time_ms, _, key = heapq.heappop(self._heap)
            if self._times.get(key) != time_ms:
                continue
            del self._times[key]
            try:
                next_ms = self._act(key)
            except Exception:
                log.exception("Deadline callback failed. key=%r", key)
                continue
            if next_ms < math.inf:
                self.wake_by(key, next_ms)
