"""A result that comes later, told on the spot: no task, no turn of the event loop.

The hot path of a produce request waits for a disk sync that serves many. With a future for each, every one of them
costs turns of the loop and, in a coroutine, a task; here whoever resolves the completion calls what waits for it.
It can be awaited too, where that does not matter.
"""

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
U = TypeVar("U")


class Completion(Generic[T]):
    """Resolved or failed once; one callback, which must not raise."""

    __slots__ = ("_callback", "_change", "_result", "error", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self._result: T
        self.error: Exception | None = None
        self._callback: Callable[[Completion[T]], None] | None = None
        self._change: Callable[[Any], Any] | None = None

    def resolve(self, result: T) -> None:
        if not self.is_done:
            self._result = result
            self._finish()

    def fail(self, error: Exception) -> None:
        if not self.is_done:
            self.error = error
            self._finish()

    def end(self: "Completion[None]", error: Exception | None) -> None:
        """Resolve it, which has no result to give, or fail it."""
        if error is None:
            self.resolve(None)
        else:
            self.fail(error)

    def then(self, callback: "Callable[[Completion[T]], None]") -> None:
        """Call `callback` when this is done; at once if it is."""
        assert self._callback is None, "a completion is waited for once"
        self._callback = callback
        if self.is_done:
            callback(self)

    def through(self, change: Callable[[T], U]) -> "Completion[U]":
        """Give this completion with another result: what `change` makes of it, when it is asked for."""
        assert self._change is None, "a result is changed once"
        self._change = change
        return cast("Completion[U]", self)

    def result(self) -> T:
        """Give the result, or raise what it failed with."""
        if self.error is not None:
            raise self.error
        if self._change is None:
            return self._result
        changed: T = self._change(self._result)
        return changed

    def __await__(self) -> Generator[object, None, T]:
        if not self.is_done:
            woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.then(lambda _: None if woken.done() else woken.set_result(None))
            yield from woken
        return self.result()

    def _finish(self) -> None:
        self.is_done = True
        callback = self._callback
        if callback is not None:
            self._callback = (
                None  # it may hold this in turn: a cycle for each request keeps the collector busy
            )
            callback(self)
