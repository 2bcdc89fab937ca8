"""When records may be read for a connection's request, so that its answers never fill the memory.

A client may ask for much in many requests at once and take the answers slowly, or stand them behind one that waits.
So records are read for one request at a time, not while the client leaves its answers lying, and when much is held
back behind an unfinished request, only for that one: it must never wait for those behind it.

How much is read at once grows with what the client has been given before, so that one that asks for all there is and
takes nothing costs no more than what fits into the buffers between.

Requests of a connection have numbers, from 1 on, and are answered in that order.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class ConnectionGone(Exception):
    """Nobody is there to read for."""


FIRST_BYTES_MAX = 1024 * 1024  # what clients ask for of one partition, if they are not told otherwise


class ReadTurns:
    __slots__ = ("_lock", "_waiting", "accepted", "answered", "bytes_max", "is_full", "is_gone", "is_slow")

    def __init__(self) -> None:
        self.bytes_max = FIRST_BYTES_MAX  # of the next answer
        self.accepted = 0  # the number of the newest request
        self.answered = 0  # the number of the last one whose answer was written
        self.is_slow = False  # the client does not take what was written
        self.is_full = False  # much is held back behind the oldest request
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

    def gave(self, size_bytes: int) -> None:
        """So much is in an answer: if that was about all it may have, the next may have a quarter more."""
        if 2 * size_bytes >= self.bytes_max:
            self.bytes_max += self.bytes_max // 4

    def look_again(self) -> None:
        """Something of the above has changed."""
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
