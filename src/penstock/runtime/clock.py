"""Time as an argument, so that a test can move it.

`now_ms` is the wall clock of records and retention; `monotonic_ms` measures durations and never jumps. `sleep` follows
`monotonic_ms`.
"""

import asyncio
import heapq
import itertools
import time
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> float: ...

    async def sleep(self, delay_ms: float) -> None: ...


async def sleep_or(clock: Clock, delay_ms: float, event: asyncio.Event) -> None:
    """Sleep, but not for longer than until `event` is set."""
    waits = [asyncio.ensure_future(each) for each in (clock.sleep(delay_ms), event.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(delay_ms / 1000)


class ManualClock:
    """Stands still until `advance` moves it; sleepers wake in the order of their deadlines."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms: float = now_ms
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        return int(self._now_ms)

    def monotonic_ms(self) -> float:
        return self._now_ms

    async def sleep(self, delay_ms: float) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now_ms + delay_ms, next(self._order), woken))
        await woken

    def advance(self, delta_ms: float) -> None:
        """Move time forward and wake every sleeper whose deadline has come."""
        self._now_ms += delta_ms
        while self._sleepers and self._sleepers[0][0] <= self._now_ms:
            woken = heapq.heappop(self._sleepers)[2]
            if not woken.done():
                woken.set_result(None)
