"""Work that may block, taken off the event loop.

Whoever has blocking work takes an `Offload`: threads in a real broker, inline in a simulation or a test.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Offload(Protocol):
    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` where blocking is allowed and give back what it returns or raises."""
        ...


class ThreadOffload:
    """Runs work on a bounded pool of threads of its own."""

    def __init__(self, thread_count_max: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(thread_count_max, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Wait for what is running; nothing new may be started."""
        self._pool.shutdown(wait=True)


class InlineOffload:
    """Runs work at once on the caller's thread: deterministic, for simulations and tests."""

    async def run(self, work: Callable[[], T]) -> T:
        return work()
