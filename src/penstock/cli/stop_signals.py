"""Ctrl-C and SIGTERM as a wish: who works in a loop finishes what is at hand, and then stops."""

import signal
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Within it, the first signal is only noted; a second one does what it would have done outside."""

    __slots__ = ("_before", "is_stopped")

    def __init__(self) -> None:
        self.is_stopped = False
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

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self.is_stopped = True
        for each in _SIGNALS:
            signal.signal(each, self._before[each])
