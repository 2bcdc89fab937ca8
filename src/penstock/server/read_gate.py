"""Decides when records may be read for a request of a connection, so that its responses never fill the memory.

A client may pipeline many large fetches and read the responses slowly, or queue them behind a long poll. So records are
read for one request at a time, and not while the client leaves responses unread. When many bytes are held back behind
an unfinished request, records are read only for that one: it must never wait for later requests.

The size of a read grows with the bytes that the client has read before, so a client that asks for everything and reads
nothing costs no more than the buffers in between.

Requests of a connection have numbers, from 1 on, and are answered in that order.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class ConnectionGone(Exception):
    """The client has disconnected."""


FIRST_BYTES_MAX = 1024 * 1024  # clients' default for one partition


class ReadGate:
    __slots__ = ("_lock", "_waiting", "accepted", "answered", "bytes_max", "is_full", "is_gone", "is_slow")

    def __init__(self) -> None:
        self.bytes_max = FIRST_BYTES_MAX  # of the next answer
        self.accepted = 0  # the number of the newest request
        self.answered = 0  # the number of the last request whose response was written
        self.is_slow = False  # the client does not read its responses
        self.is_full = False  # many response bytes wait for the oldest request
        self.is_gone = False
        self._lock = asyncio.Lock()
        self._waiting: list[asyncio.Future[None]] = []

    @contextlib.asynccontextmanager
    async def turn(self, number: int) -> AsyncIterator[None]:
        """Wait for the turn of a request and hold it while reading. Raises `ConnectionGone`."""
        while True:
            await self._room(number)
            async with self._lock:
                if self._has_room(number):
                    yield
                    return

    def note_size(self, size_bytes: int) -> None:
        """Record the size of a response. If it used most of the limit, the next may be a quarter larger."""
        if 2 * size_bytes >= self.bytes_max:
            self.bytes_max += self.bytes_max // 4

    def wake(self) -> None:
        """Check again whether waiting requests may read: the state has changed."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for room in waiting:
            if not room.done():
                room.set_result(None)

    async def _room(self, number: int) -> None:
        while not self._has_room(number):
            room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(room)
            await room

    def _has_room(self, number: int) -> bool:
        if self.is_gone:
            raise ConnectionGone
        is_oldest = number <= self.answered + 1
        return not self.is_slow and (is_oldest or not self.is_full)
