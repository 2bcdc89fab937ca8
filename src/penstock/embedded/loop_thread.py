"""A thread with its own event loop, independent of the host's threads and loops.

The thread is a daemon: a host that forgets to stop it can still exit. No signal handler is installed, because asyncio
and uvloop do so on the main thread only.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    def __init__(self, name: str) -> None:
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        """Run a coroutine on the loop; the future may be used in any thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def end(self) -> None:
        """Stop the loop and wait for the thread. Its tasks have to have ended."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """The loop of uvloop, where that is installed."""
    try:
        import uvloop  # noqa: PLC0415 - an extra speed, not a need
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
