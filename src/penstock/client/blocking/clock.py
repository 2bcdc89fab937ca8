"""Time for code without an event loop: an argument, so that a test can move it."""

import time
from typing import Protocol


class BlockingClock(Protocol):
    def monotonic_ms(self) -> float: ...

    def sleep(self, delay_ms: float) -> None: ...


class SystemBlockingClock:
    def monotonic_ms(self) -> float:
        return time.monotonic() * 1000

    def sleep(self, delay_ms: float) -> None:
        time.sleep(delay_ms / 1000)
