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


def longest_outage(
    publisher: Publisher,
    payload: bytes,
    within_s: float,
    is_announced: Callable[[], bool],
    *,
    clock: Callable[[], float] = time.perf_counter,
    sleep: Callable[[float], None] = time.sleep,
) -> float:
    """Publish one message after the other until one sent after the kill is acknowledged, and a second longer. Return
    the longest time between two acknowledgements in seconds.
    """

    def publish_until_acknowledged() -> float:
        deadline = clock() + within_s
        is_open = True
        while True:
            try:
                if not is_open:
                    publisher.reopen_publisher()
                    is_open = True
                publisher.publish_one(payload)
            except Exception:
                if clock() > deadline:
                    raise
                is_open = False
                sleep(_RETRY_S)
            else:
                return clock()

    longest_s, ends_at = 0.0, None
    last = publish_until_acknowledged()
    while ends_at is None or last < ends_at:
        is_after_kill = ends_at is None and is_announced()
        now = publish_until_acknowledged()
        longest_s = max(longest_s, now - last)
        last = now
        if is_after_kill:
            ends_at = now + _IDLE_S
    return longest_s
