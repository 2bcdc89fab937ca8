"""Measures how long nothing is acknowledged when the node that a publisher uses is killed."""

import time
from collections.abc import Callable
from typing import Final, Protocol

ANSWER_WITHIN_S: Final = 0.5  # then the message is published again
_RETRY_S: Final = 0.005
_IDLE_S: Final = 1.0


class Publisher(Protocol):
    """The part of a client that this module uses."""

    def publish_one(self, payload: bytes) -> None: ...

    def reopen_publisher(self) -> None: ...


class Outage:
    """Clock and sleep are arguments for tests."""

    def __init__(
        self,
        publisher: Publisher,
        within_s: float,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._publisher = publisher
        self._within_s = within_s
        self._clock = clock
        self._sleep = sleep

    def run(self, payload: bytes, is_announced: Callable[[], bool]) -> tuple[int, float]:
        """Publish one message after the other until one sent after the kill is acknowledged, and a second longer.
        Return the number of acknowledgements, and the longest time between two of them in seconds.
        """
        count, longest_s, ends_at = 0, 0.0, None
        self._publish_until_acknowledged(payload)
        last = self._clock()
        while ends_at is None or last < ends_at:
            is_after_kill = ends_at is None and is_announced()
            self._publish_until_acknowledged(payload)
            now = self._clock()
            longest_s = max(longest_s, now - last)
            last = now
            count += 1
            if is_after_kill:
                ends_at = now + _IDLE_S
        return count, longest_s

    def _publish_until_acknowledged(self, payload: bytes) -> None:
        deadline = self._clock() + self._within_s
        is_open = True
        while True:
            try:
                if not is_open:
                    self._publisher.reopen_publisher()
                    is_open = True
                self._publisher.publish_one(payload)
            except Exception:
                if self._clock() > deadline:
                    raise
                is_open = False
                self._sleep(_RETRY_S)
            else:
                return
