"""A result that comes later and runs its callback at once: no task, no turn of the event loop.

Many produce requests wait for one disk sync. A future for each would cost turns of the loop and, in a coroutine, a
task; here the code that resolves the completion calls the callback. A completion can be awaited too.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")
U = TypeVar("U")


class Cancelled(Exception):
    """The task that computes the result was cancelled."""


class Completion(msgspec.Struct, Generic[T], kw_only=True, eq=False):
    """Resolved or failed once; one callback, which must not raise.

    A `Struct`, because several are created for each request, and creating one runs no Python code.
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
                self._callback = None  # it may refer to this: a cycle is work for the garbage collector
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
        """The result; raises the failure."""
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
    """A response that comes later: the only other result of a handler besides a response."""

    is_exclusive: bool = False
    """Whether later requests of the same connection wait for it, because they must see its effect."""
    _change: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, work: Awaitable[T], *, is_exclusive: bool = False) -> "Reply[T]":
        """The reply of a coroutine, which runs as a task."""
        reply = cls(is_exclusive=is_exclusive)
        asyncio.ensure_future(work).add_done_callback(partial(_pass_on, reply))
        return reply

    @classmethod
    def after(cls, done: Completion[U], respond: Callable[[Completion[U]], T]) -> "Reply[T]":
        """The reply that `respond` makes when `done` is done, or has failed."""
        reply = cls()

        def respond_now(each: Completion[U]) -> None:
            try:
                reply.resolve(respond(each))
            except Exception as error:  # noqa: BLE001  the connection reports it
                reply.fail(error)

        done.then(respond_now)
        return reply

    def through(self, change: Callable[[T], U]) -> "Reply[U]":
        """Change the result of this reply with `change`, when it is read."""
        assert self._change is None, "a result is changed once"
        self._change = change
        return self  # type: ignore[return-value]  # `result` returns the caller's type

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
