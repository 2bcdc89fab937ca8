"""Virtual time: things that happen at times, in order. Nothing waits; the time jumps to what comes next."""

import heapq
from collections.abc import Callable


class Timeline:
    """What is scheduled for the same time happens in the order in which it was scheduled."""

    __slots__ = ("_count", "_heap", "now_ms")

    def __init__(self) -> None:
        self.now_ms = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, at_ms: float, happen: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (max(at_ms, self.now_ms), self._count, happen))

    def after(self, delay_ms: float, happen: Callable[[], None]) -> None:
        self.at(self.now_ms + delay_ms, happen)

    def run_until(self, end_ms: float) -> None:
        """Let everything happen up to and including `end_ms`."""
        while self._heap and self._heap[0][0] <= end_ms:
            self.now_ms, _, happen = heapq.heappop(self._heap)
            happen()
        self.now_ms = max(self.now_ms, end_ms)
