"""Runs the maintenance of a coordinator at intervals."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from penstock.runtime.clock import Clock

log = logging.getLogger(__name__)


class PeriodicTasks:
    """A task that fails is logged, and runs again after its interval."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []

    def start(
        self, name: str, interval_ms: Callable[[], int], work: Callable[[], Awaitable[None] | None]
    ) -> None:
        """Run `work` at intervals; the interval is read again every time."""
        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(self._repeat(name, interval_ms, work), name=name))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _repeat(
        self, name: str, interval_ms: Callable[[], int], work: Callable[[], Awaitable[None] | None]
    ) -> None:
        while True:
            await self._clock.sleep(interval_ms())
            try:
                result = work()
                if result is not None:
                    await result
            except Exception:
                log.exception("A periodic task failed. task=%s retry_ms=%d", name, interval_ms())
