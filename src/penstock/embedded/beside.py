"""Blocking work for a host that has an event loop of its own, which goes on meanwhile and keeps no thread of ours."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def beside_loop(work: Callable[[], T]) -> T:
    """Run `work` on a thread that lives as long as it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.done():  # nobody waits any more
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # there is a result where there is no error

    def run() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            failure = error
        with contextlib.suppress(RuntimeError):  # the host's loop is closed
            loop.call_soon_threadsafe(tell, result, failure)

    threading.Thread(target=run, name="penstock-embedded", daemon=True).start()
    return await done
