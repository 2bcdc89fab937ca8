"""Ctrl-C and SIGTERM as a request: a loop finishes the work at hand, and then stops."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SAME_REQUEST_S = 1.0


class ForcedStop:
    """Tells a second request to stop from a duplicate of the first.

    `timeout` signals its child and then the child's whole group; shells and process managers do the same. Signals
    within a second of the first are the same request.
    """

    __slots__ = ("_first_s", "_now_s")

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._first_s: float | None = None

    def is_requested(self) -> bool:
        """Call it with every signal: whether this one asks to stop without waiting."""
        if self._first_s is None:
            self._first_s = self._now_s()
        return self._now_s() - self._first_s > _SAME_REQUEST_S


@contextlib.contextmanager
def stop_on_signals(
    on_first: Callable[[int], None] = lambda _number: None,
    on_later: Callable[[int], None] = signal.raise_signal,
) -> Iterator[threading.Event]:
    """Give an event that the first signal sets. A later one gets the handlers from outside, and calls `on_later`."""
    stopping, forced = threading.Event(), ForcedStop()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if forced.is_requested():
            restore()
            on_later(number)
        elif not stopping.is_set():
            on_first(number)
        stopping.set()

    def restore() -> None:
        for each, handler in before.items():
            signal.signal(each, handler)

    before = {each: signal.signal(each, on_signal) for each in STOP_SIGNALS}
    try:
        yield stopping
    finally:
        restore()
