"""Blocking work that runs on the event loop after all, for disks in memory, which never make anybody wait."""

import asyncio
from collections.abc import Callable
from functools import partial

from penstock.observability.offload import Then, ThreadOffload
from penstock.testing.disk import PowerCut


class LoopOffload(ThreadOffload):
    """In the place of threads: work runs on the loop, in a turn to come."""

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
            return  # nobody is left there to be told
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            failure = error
        then(result, failure)

    def close(self) -> None:
        pass


def _must_wait(work: Callable[[], object]) -> bool:
    """Whether this work would wait for other work that is still to be run: on one thread it would for ever."""
    involved = [getattr(work, "__self__", None)]
    if isinstance(work, partial):
        for argument in work.args:
            involved += argument if isinstance(argument, list) else [argument]
    return any(getattr(each, "must_wait", False) for each in involved)
