"""Virtual time: callbacks run at scheduled times, and the time jumps from one to the next."""

import heapq
from collections.abc import Callable


class Timeline:
    """Callbacks of the same time run in the order in which they were scheduled."""

    __slots__ = ("_count", "_heap", "now_ms")

    def __init__(self) -> None:
        self.now_ms = 0.0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, at_ms: float, callback: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._heap, (max(at_ms, self.now_ms), self._count, callback))

    def after(self, delay_ms: float, callback: Callable[[], None]) -> None:
        self.at(self.now_ms + delay_ms, callback)

    def run_until(self, end_ms: float) -> None:
        """Run all callbacks up to and including `end_ms`."""
        while self._heap and self._heap[0][0] <= end_ms:
            self.now_ms, _, callback = heapq.heappop(self._heap)
            callback()
        self.now_ms = max(self.now_ms, end_ms)
