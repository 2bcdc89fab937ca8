"""Ctrl-C and SIGTERM as a wish: who works in a loop finishes what is at hand, and then stops."""

import signal
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_MOMENT_S = 1.0


class Impatience:
    """Tells a person who wants no waiting from a program that sends its signal twice.

    `timeout` signals its child and then the child's whole group; shells and process managers do the same. Signals
    within a moment of the first one are the same request.
    """

    __slots__ = ("_first_s", "_now_s")

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._first_s: float | None = None

    def is_shown(self) -> bool:
        """To be asked with every signal: whether this one means that nothing more is to be waited for."""
        if self._first_s is None:
            self._first_s = self._now_s()
        return self._now_s() - self._first_s > _MOMENT_S


class StopSignals:
    """Within it, the first signal is only noted; a later one does what it would have done outside."""

    __slots__ = ("_before", "_impatience", "is_stopped")

    def __init__(self) -> None:
        self.is_stopped = False
        self._impatience = Impatience()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {each: signal.getsignal(each) for each in _SIGNALS}
        for each in _SIGNALS:
            signal.signal(each, self._stop)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        for each in _SIGNALS:
            signal.signal(each, self._before[each])

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        self.is_stopped = True
        if self._impatience.is_shown():
            for each in _SIGNALS:
                signal.signal(each, self._before[each])
            signal.raise_signal(number)
