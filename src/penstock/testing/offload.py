"""Blocking work that runs on the event loop: disks in memory never block."""

import asyncio
from collections.abc import Callable
from functools import partial

from penstock.runtime.offload import Then, ThreadOffload
from penstock.testing.memory_files import PowerCut


class LoopOffload(ThreadOffload):
    """Runs work in a later turn of the loop instead of on a thread."""

    def __init__(self) -> None:
        super().__init__(0, "loop")

    def call(self, work: Callable[[], object], then: Then) -> None:
        self.later(self._run_now, work, then)

    def later(self, callback: Callable[..., None], work: Callable[[], object], then: Then) -> None:
        asyncio.get_running_loop().call_soon(callback, work, then)

    def _run_now(self, work: Callable[[], object], then: Then) -> None:
        if _must_wait(work):
            self.later(self._run_now, work, then)
            return
        result: object = None
        failure: BaseException | None = None
        try:
            result = work()
        except PowerCut:
            return  # the process that would get the result has ended
        except Exception as error:  # noqa: BLE001 - passed to `then`
            failure = error
        then(result, failure)

    def close(self) -> None:
        pass


def _must_wait(work: Callable[[], object]) -> bool:
    """Return whether the work would block on other work that has not run yet: one thread would deadlock."""
    involved = [getattr(work, "__self__", None)]
    if isinstance(work, partial):
        for argument in work.args:
            involved += argument if isinstance(argument, list) else [argument]
    return any(getattr(each, "must_wait", False) for each in involved)
