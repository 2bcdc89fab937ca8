"""What all connections of a broker may hold in memory together, so that no crowd of clients can exhaust it.

Requests: a frame that is still being received, and one that is being handled. When they are too many, connections are
not read from until there is room again. A client that sends half a frame and falls silent must not keep the others
waiting: when frames that are being received need the room, those that were begun first, and are still not whole, are
given up.

Answers: what clients have asked for and do not read. When it is too much, each fetch gets little, and clients that have
taken nothing at all for seconds are given up: they must not slow down those who read.
"""

import os
from typing import Protocol

from penstock.server.read_pace import ReadPace

_SHARE_OF_MEMORY = 4
_BYTES_MIN = 128 * 1024 * 1024
ANSWER_BYTES_MIN = 256 * 1024
"""A fetch may read so much however little is left: enough to get on at full speed with."""
CROWD_BYTES = 32 * 1024 * 1024
"""When clients leave more than that lying, every fetch reads little."""
STALLED_MS = 5000
_LOOKS_EVERY_MS = 100


class Holder(Protocol):
    """A connection, as far as its memory is concerned."""

    def give_up_frame(self) -> None:
        """Close, because the frame that is being received takes too long."""
        ...

    def look_for_room(self) -> None:
        """There may be room again."""
        ...


class Answerer(Protocol):
    """A connection, as far as its answers are concerned."""

    def unsent_now(self) -> int:
        """How many bytes of answers its client has not taken yet."""
        ...

    def give_up_answers(self) -> None:
        """Close, because the client takes none of its answers."""
        ...


class _Unsent:
    """What a client leaves lying, and since when it has taken nothing of it."""

    __slots__ = ("since_ms", "size_bytes")

    def __init__(self, size_bytes: int, since_ms: float) -> None:
        self.size_bytes = size_bytes
        self.since_ms = since_ms


class MemoryBudget:
    __slots__ = (
        "_looked_ms",
        "_receiving",
        "_unsent",
        "in_flight_bytes",
        "limit_bytes",
        "pace",
        "receiving_bytes",
        "unsent_bytes",
        "waiting",
    )

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.pace = ReadPace()
        self.receiving_bytes = 0
        self.in_flight_bytes = 0
        self.unsent_bytes = 0
        self._receiving: dict[Holder, int] = {}  # begun first stands first
        self.waiting: dict[Holder, None] = {}  # connections that are not read from until there is room
        self._unsent: dict[Answerer, _Unsent] = {}
        self._looked_ms = float("-inf")

    # -- frames that are being received

    def receive(self, holder: Holder, size_bytes: int) -> None:
        """A frame has a buffer of this size now; others may have to go for it."""
        self.receiving_bytes += size_bytes - self._receiving.get(holder, 0)
        self._receiving[holder] = size_bytes
        while self.receiving_bytes > self.limit_bytes and len(self._receiving) > 1:
            oldest = next(iter(self._receiving))
            self.received(oldest)
            oldest.give_up_frame()

    def received(self, holder: Holder) -> None:
        """The frame is whole, or will never be."""
        self.receiving_bytes -= self._receiving.pop(holder, 0)

    # -- requests that are being handled: whoever begins with one adds its size to `in_flight_bytes`

    def wait_for_room(self, holder: Holder) -> None:
        """Notify the holder when there is room again."""
        self.waiting[holder] = None

    def release(self, size_bytes: int) -> None:
        """So much was answered."""
        self.in_flight_bytes -= size_bytes
        if self.waiting and self.in_flight_bytes < self.limit_bytes:
            waiting, self.waiting = self.waiting, {}
            for holder in waiting:
                holder.look_for_room()

    def forget(self, holder: Holder) -> None:
        self.received(holder)
        self.waiting.pop(holder, None)

    # -- answers

    def left_unsent(self, answerer: Answerer, size_bytes: int, now_ms: float) -> None:
        """Its client does not take its answers as fast as they come."""
        self.sent(answerer)
        self.unsent_bytes += size_bytes
        self._unsent[answerer] = _Unsent(size_bytes, now_ms)

    def sent(self, answerer: Answerer) -> None:
        """Its client has taken them, or never will."""
        unsent = self._unsent.pop(answerer, None)
        if unsent is not None:
            self.unsent_bytes -= unsent.size_bytes

    def left_for_answers(self, now_ms: float) -> int:
        """How much a fetch may read; never nothing, or no client would ever get on."""
        if 2 * self.unsent_bytes > self.limit_bytes and now_ms - self._looked_ms >= _LOOKS_EVERY_MS:
            self._looked_ms = now_ms
            self._look_who_is_stalled(now_ms)
        if self.unsent_bytes > CROWD_BYTES:
            return ANSWER_BYTES_MIN
        return max(ANSWER_BYTES_MIN, self.limit_bytes - self.unsent_bytes)

    def _look_who_is_stalled(self, now_ms: float) -> None:
        for answerer, unsent in list(self._unsent.items()):
            size_bytes = answerer.unsent_now()
            if size_bytes < unsent.size_bytes:
                self.unsent_bytes -= unsent.size_bytes - size_bytes
                unsent.size_bytes = size_bytes
                unsent.since_ms = now_ms
            elif now_ms - unsent.since_ms >= STALLED_MS:
                self.sent(answerer)
                answerer.give_up_answers()


def memory_limit(configured_bytes: int) -> int:
    """The limit that is set, or a share of the machine's memory where none is."""
    if configured_bytes > 0:
        return configured_bytes
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(_BYTES_MIN, total // _SHARE_OF_MEMORY)
