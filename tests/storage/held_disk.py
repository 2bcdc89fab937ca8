"""An offload whose work waits until the test releases it, and a few turns of the loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from penstock.runtime.offload import InlineOffload, Then

T = TypeVar("T")


class HeldDisk(InlineOffload):
    """Does its work at once, or, after `hold`, when `free` is called."""

    def __init__(self) -> None:
        self._is_free = asyncio.Event()
        self._is_free.set()
        self.waiting_count = 0

    def hold(self) -> None:
        self._is_free.clear()

    def free(self) -> None:
        self._is_free.set()

    def call(self, work: Callable[[], object], then: Then) -> None:
        if self._is_free.is_set():
            super().call(work, then)
        else:
            asyncio.ensure_future(self.run(work)).add_done_callback(lambda done: then(done.result(), None))

    async def run(self, work: Callable[[], T]) -> T:
        self.waiting_count += 1
        await self._is_free.wait()
        self.waiting_count -= 1
        return work()


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
