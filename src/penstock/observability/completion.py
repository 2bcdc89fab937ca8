"""A result that comes later, passed on at once: no task, no turn of the event loop.

The hot path of a produce request waits for a disk sync that serves many. With a future for each, every one of them
costs turns of the loop and, in a coroutine, a task; here the code that resolves the completion calls what waits for it.
It can be awaited too, where that does not matter.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
U = TypeVar("U")


class Cancelled(Exception):
    """The task that was to give the result was cancelled."""


class Completion(msgspec.Struct, Generic[T], kw_only=True, eq=False):
    """Resolved or failed once; one callback, which must not raise.

    A `Struct`, because several are made for each request, and it is made without a call of Python code.
    """

    is_done: bool = False
    error: Exception | None = None
    _result: T | None = None
    _callback: "Callable[[Any], None] | None" = None

    def resolve(self, result: T) -> None:
        if not self.is_done:
            self._result = result
            self.is_done = True
            callback = self._callback
            if callback is not None:
                self._callback = None  # it may hold this in turn: a cycle keeps the collector busy
                callback(self)

    def fail(self, error: Exception) -> None:
        if not self.is_done:
            self.error = error
            self.is_done = True
            callback = self._callback
            if callback is not None:
                self._callback = None
                callback(self)

    def then(self, callback: "Callable[[Completion[T]], None]") -> None:
        """Call `callback` when this is done; at once if it is."""
        assert self._callback is None, "a completion is waited for once"
        if self.is_done:
            callback(self)
        else:
            self._callback = callback

    def result(self) -> T:
        """Give the result, or raise what it failed with."""
        if self.error is not None:
            raise self.error
        return self._result  # type: ignore[return-value]  # it is there

    def __await__(self) -> Generator[object, None, T]:
        if not self.is_done:
            woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.then(lambda _: None if woken.done() else woken.set_result(None))
            yield from woken
        return self.result()


class Reply(Completion[T], Generic[T], kw_only=True, eq=False):
    """The answer to a request that comes later: the only thing, beside an answer itself, that a request can get."""

    is_exclusive: bool = False
    """Whether later requests of the same connection wait for it, because they must see its effect."""
    _change: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, work: Awaitable[T], *, is_exclusive: bool = False) -> "Reply[T]":
        """The reply that a coroutine gives, which runs as a task."""
        reply = cls(is_exclusive=is_exclusive)
        asyncio.ensure_future(work).add_done_callback(partial(_pass_on, reply))
        return reply

    @classmethod
    def after(cls, done: Completion[U], respond: Callable[[Completion[U]], T]) -> "Reply[T]":
        """The reply that `respond` makes when something else is done, or has failed."""
        reply = cls()

        def respond_now(each: Completion[U]) -> None:
            try:
                reply.resolve(respond(each))
            except Exception as error:  # noqa: BLE001  the connection reports it
                reply.fail(error)

        done.then(respond_now)
        return reply

    def through(self, change: Callable[[T], U]) -> "Reply[U]":
        """Give this reply with another result: what `change` makes of it, when it is asked for."""
        assert self._change is None, "a result is changed once"
        self._change = change
        return self  # type: ignore[return-value]  # `result` gives what the caller asks for

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        if self._change is None:
            return self._result  # type: ignore[return-value]  # it is there
        changed: T = self._change(self._result)
        return changed


def _pass_on(reply: Reply[T], task: "asyncio.Future[T]") -> None:
    if task.cancelled():
        reply.fail(Cancelled("its request was cancelled"))
        return
    error = task.exception()
    if error is None:
        reply.resolve(task.result())
    elif isinstance(error, Exception):
        reply.fail(error)
    else:
        reply.fail(Cancelled(f"its request was ended by {error!r}"))
