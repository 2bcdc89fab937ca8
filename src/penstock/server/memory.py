"""What all connections of a broker may hold in memory together, so that no crowd of clients can exhaust it.

Requests: a frame that is still being received, and one that is being handled. When they are too many, connections are
not read from until there is room again. A client that sends half a frame and falls silent must not keep the others
waiting: when frames that are being received need the room, those that were begun first, and are still not whole, are
given up.

Answers: what clients have asked for and do not read. When it is too much, each fetch gets as little as it can do with.
"""

import os
from typing import Protocol

_SHARE_OF_MEMORY = 4
_BYTES_MIN = 128 * 1024 * 1024


class Holder(Protocol):
    """A connection, as far as its memory is concerned."""

    def give_up_frame(self) -> None:
        """Close, because the frame that is being received takes too long."""
        ...

    def look_for_room(self) -> None:
        """There may be room again."""
        ...


class MemoryBudget:
    __slots__ = (
        "_receiving",
        "_waiting",
        "in_flight_bytes",
        "limit_bytes",
        "receiving_bytes",
        "unsent_bytes",
    )

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.receiving_bytes = 0
        self.in_flight_bytes = 0
        self.unsent_bytes = 0
        self._receiving: dict[Holder, int] = {}  # begun first stands first
        self._waiting: dict[Holder, None] = {}

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

    # -- requests that are being handled

    def has_room_for(self, holder: Holder) -> bool:
        """Whether more may be read; if not, the holder is told when it may."""
        if self.in_flight_bytes < self.limit_bytes:
            return True
        self._waiting[holder] = None
        return False

    def release(self, size_bytes: int) -> None:
        """So much was answered."""
        self.in_flight_bytes -= size_bytes
        if self._waiting and self.in_flight_bytes < self.limit_bytes:
            waiting, self._waiting = self._waiting, {}
            for holder in waiting:
                holder.look_for_room()

    def forget(self, holder: Holder) -> None:
        self.received(holder)
        self._waiting.pop(holder, None)

    # -- answers

    @property
    def left_for_answers(self) -> int:
        """How much a fetch may read; never nothing, or no client would ever get on."""
        return max(1, self.limit_bytes - self.unsent_bytes)


def memory_limit(configured_bytes: int) -> int:
    """The limit that is set, or a share of the machine's memory where none is."""
    if configured_bytes > 0:
        return configured_bytes
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(_BYTES_MIN, total // _SHARE_OF_MEMORY)
