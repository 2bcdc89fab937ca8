"""Bounds the bytes that are read for all clients in one turn of the event loop.

Many large fetches at once would be answered in one turn, and small requests would wait for all of them. Once the budget
of a turn is spent, later fetches wait for later turns, in order of arrival.
"""

import asyncio
from collections import deque

BYTES_PER_TURN = 1024 * 1024
SMALL_BYTES = 64 * 1024
"""Smaller reads take no longer than other requests, and are not counted."""


class ReadBudget:
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
        """Charge a read to the budget of this turn."""
        self._left_bytes -= size_bytes
        self._schedule_next_turn()

    async def turn(self) -> None:
        """Wait until a fetch may read."""
        if self.is_open:
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._schedule_next_turn()
        await waiting

    def _schedule_next_turn(self) -> None:
        if not self._is_turn_due:
            self._is_turn_due = True
            asyncio.get_running_loop().call_soon(self._begin_turn)

    def _begin_turn(self) -> None:
        """Let one waiting fetch read in this turn; schedule another turn for the rest."""
        self._is_turn_due = False
        self._left_bytes = BYTES_PER_TURN
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():  # its request may have been cancelled
                waiting.set_result(None)
                break
        if self._waiting:
            self._schedule_next_turn()
