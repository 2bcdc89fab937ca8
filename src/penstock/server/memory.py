"""Bounds the memory that all connections of a broker hold together.

Requests are frames that are being received or handled. When they take too much, the broker stops reading from
connections until there is room. A client that sends half a frame and stalls must not block the others: when partial
frames need more room, the connections of the oldest ones are closed.

Responses that clients do not read are unsent bytes. When they take too much, each fetch reads little, and connections
whose clients have read nothing for seconds are closed.
"""

import os
from typing import Protocol

import msgspec

from penstock.server.read_budget import ReadBudget

_MEMORY_DIVISOR = 4
_BYTES_MIN = 128 * 1024 * 1024
FETCH_BYTES_MIN = 256 * 1024
"""A fetch may always read this much, which is enough for full speed."""
UNSENT_BYTES_MAX = 32 * 1024 * 1024
"""With more unsent bytes than this, a fetch reads `FETCH_BYTES_MIN` only."""
STALLED_MS = 5000
_CHECK_INTERVAL_MS = 100


class FrameReader(Protocol):
    """A connection that receives frames."""

    def close_partial_frame(self) -> None:
        """Close the connection: its partial frame takes room that others need."""
        ...

    def resume_if_room(self) -> None: ...


class ResponseWriter(Protocol):
    """A connection that sends responses."""

    def unsent_bytes_now(self) -> int:
        """Return how many bytes of responses its client has not read yet."""
        ...

    def close_unread(self) -> None:
        """Close the connection: its client reads no responses."""
        ...


class _Unsent(msgspec.Struct):
    """The unsent bytes of a connection, and since when the client has read none."""

    size_bytes: int
    since_ms: float


class MemoryBudget:
    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.read_budget = ReadBudget()
        self.receiving_bytes = 0
        self.in_flight_bytes = 0
        self.unsent_bytes = 0
        self._receiving: dict[FrameReader, int] = {}  # oldest first
        self.waiting: dict[FrameReader, None] = {}  # paused connections
        self._unsent: dict[ResponseWriter, _Unsent] = {}
        self._checked_ms = float("-inf")

    # -- frames that are being received

    def set_partial_frame(self, reader: FrameReader, size_bytes: int) -> None:
        """Record the buffer size of a partial frame. May close connections with older ones."""
        self.receiving_bytes += size_bytes - self._receiving.get(reader, 0)
        self._receiving[reader] = size_bytes
        while self.receiving_bytes > self.limit_bytes and len(self._receiving) > 1:
            oldest = next(iter(self._receiving))
            self.clear_partial_frame(oldest)
            oldest.close_partial_frame()

    def clear_partial_frame(self, reader: FrameReader) -> None:
        """Forget a partial frame: it is whole, or its connection is closed."""
        self.receiving_bytes -= self._receiving.pop(reader, 0)

    # -- requests that are being handled: the connection adds their size to `in_flight_bytes`

    def wait_for_room(self, reader: FrameReader) -> None:
        """Resume this connection when there is room again."""
        self.waiting[reader] = None

    def release(self, size_bytes: int) -> None:
        """Subtract the size of requests whose responses are sent."""
        self.in_flight_bytes -= size_bytes
        if self.waiting and self.in_flight_bytes < self.limit_bytes:
            waiting, self.waiting = self.waiting, {}
            for reader in waiting:
                reader.resume_if_room()

    def remove(self, reader: FrameReader) -> None:
        self.clear_partial_frame(reader)
        self.waiting.pop(reader, None)

    # -- responses

    def set_unsent(self, writer: ResponseWriter, size_bytes: int, now_ms: float) -> None:
        """Record that a client reads its responses slower than they are written."""
        self.clear_unsent(writer)
        self.unsent_bytes += size_bytes
        self._unsent[writer] = _Unsent(size_bytes, now_ms)

    def clear_unsent(self, writer: ResponseWriter) -> None:
        """Forget the unsent bytes of a connection: they were read, or it is closed."""
        unsent = self._unsent.pop(writer, None)
        if unsent is not None:
            self.unsent_bytes -= unsent.size_bytes

    def fetch_bytes_max(self, now_ms: float) -> int:
        """Return how many bytes a fetch may read; never 0, so that every client makes progress."""
        if 2 * self.unsent_bytes > self.limit_bytes and now_ms - self._checked_ms >= _CHECK_INTERVAL_MS:
            self._checked_ms = now_ms
            self._close_stalled(now_ms)
        if self.unsent_bytes > UNSENT_BYTES_MAX:
            return FETCH_BYTES_MIN
        return max(FETCH_BYTES_MIN, self.limit_bytes - self.unsent_bytes)

    def _close_stalled(self, now_ms: float) -> None:
        for writer, unsent in list(self._unsent.items()):
            size_bytes = writer.unsent_bytes_now()
            if size_bytes < unsent.size_bytes:
                self.unsent_bytes -= unsent.size_bytes - size_bytes
                unsent.size_bytes = size_bytes
                unsent.since_ms = now_ms
            elif now_ms - unsent.since_ms >= STALLED_MS:
                self.clear_unsent(writer)
                writer.close_unread()


def memory_limit(configured_bytes: int) -> int:
    """Return the configured limit, or a share of the machine's memory if none is configured."""
    if configured_bytes > 0:
        return configured_bytes
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(_BYTES_MIN, total // _MEMORY_DIVISOR)
