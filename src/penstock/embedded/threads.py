"""Blocking work of a host with its own event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread that ends with it, unlike `asyncio.to_thread`, which keeps its threads."""
    executor = ThreadPoolExecutor(1, "penstock-embedded")
    try:
        return await asyncio.get_running_loop().run_in_executor(executor, work)
    finally:
        executor.shutdown(wait=False)
