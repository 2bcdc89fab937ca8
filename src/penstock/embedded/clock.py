"""Time that a test can move forward.

`advance` moves the time of records, retention, groups, transactions and flushes of all nodes at once. Heartbeats
between nodes and connections use the system clock: otherwise a jump would look like a failure of all nodes.
"""

import asyncio
import threading
import time


class ClusterTime:
    """The offset of one cluster's time from the system clock, and the clocks that follow it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead_ms = 0.0
        self._clocks: list[MovableClock] = []

    @property
    def ahead_ms(self) -> float:
        return self._ahead_ms

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + int(self._ahead_ms)

    def advance(self, delta_ms: float) -> None:
        """Wake everything that is due within `delta_ms`. Thread-safe."""
        if delta_ms < 0:
            raise ValueError(f"time cannot go backwards: {delta_ms} ms")
        with self._lock:
            self._ahead_ms += delta_ms
            clocks = list(self._clocks)
        for clock in clocks:
            clock.recheck()

    def clock(self) -> "MovableClock":
        """The clock of one node."""
        clock = MovableClock(self)
        with self._lock:
            self._clocks.append(clock)
        return clock


class MovableClock:
    """A `Clock`; only the loop of its node may sleep with it."""

    def __init__(self, moved: ClusterTime) -> None:
        self._moved = moved
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sleepers: set[asyncio.Future[None]] = set()

    def now_ms(self) -> int:
        return self._moved.now_ms()

    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000 + self._moved.ahead_ms

    async def sleep(self, delay_ms: float) -> None:
        self._loop = asyncio.get_running_loop()
        deadline_ms = self.monotonic_ms() + delay_ms
        left_ms = delay_ms
        while left_ms > 0:
            await self._wait(left_ms)
            left_ms = deadline_ms - self.monotonic_ms()
        if delay_ms <= 0:
            await asyncio.sleep(0)

    async def _wait(self, delay_ms: float) -> None:
        """Wait for `delay_ms`, or until the time is moved."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(delay_ms / 1000, _wake, woken)
        self._sleepers.add(woken)
        try:
            await woken
        finally:
            timer.cancel()
            self._sleepers.discard(woken)

    def recheck(self) -> None:
        """Wake the sleepers, which compare their deadlines with the new time."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for sleeper in list(self._sleepers):
            _wake(sleeper)


def _wake(sleeper: "asyncio.Future[None]") -> None:
    if not sleeper.done():
        sleeper.set_result(None)
