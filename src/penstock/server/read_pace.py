"""How much is read for all clients together in one turn of the loop.

A crowd that asks for much at once would be answered in one turn, and whoever asks for little would wait for all of it.
So when much was read in a turn, fetches that come after it wait for turns of their own, in the order of their coming.
"""

import asyncio
from collections import deque

BYTES_PER_TURN = 1024 * 1024
SMALL_BYTES = 64 * 1024
"""What is less takes no longer than other requests, and is not counted."""


class ReadPace:
    __slots__ = ("_is_turn_due", "_left_bytes", "_waiting")

    def __init__(self) -> None:
        self._left_bytes = BYTES_PER_TURN
        self._is_turn_due = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_open(self) -> bool:
        """Whether a fetch may read now."""
        return self._left_bytes > 0 and not self._waiting

    def spend(self, size_bytes: int) -> None:
        """So much was read."""
        self._left_bytes -= size_bytes
        self._see_to_next_turn()

    async def turn(self) -> None:
        """Wait until a fetch may read."""
        if self.is_open:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._see_to_next_turn()
        await waiting

    def _see_to_next_turn(self) -> None:
        if not self._is_turn_due:
            self._is_turn_due = True
            asyncio.get_running_loop().call_soon(self._begin_turn)

    def _begin_turn(self) -> None:
        """One of those who wait reads in this turn; with others still waiting, another turn follows."""
        self._is_turn_due = False
        self._left_bytes = BYTES_PER_TURN
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():  # its request may have been cancelled
                waiting.set_result(None)
                break
        if self._waiting:
            self._see_to_next_turn()
