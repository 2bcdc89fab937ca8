"""Who waits for something of a partition: producers for offsets, readers for news.

There are thousands of partitions and most of them are idle, so what is empty must be small.
"""

import asyncio
from collections.abc import Callable

from penstock.storage.log_errors import LogError

Told = Callable[[LogError | None], None]
"""Called once, when records are where they were to be, or with why they will not be there. Must not raise."""


class WaitingProducers:
    """Those who wait until all below an offset is safe; in the order of their appends, and told in it."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Told]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, last_offset: int, told: Told) -> None:
        self._waiting.append((last_offset, told))

    def reached(self, end_offset: int) -> None:
        """All below `end_offset` is safe now."""
        waiting = self._waiting
        count = 0
        while count < len(waiting) and waiting[count][0] < end_offset:
            count += 1
        if count:
            self._waiting = waiting[count:]
            for _, told in waiting[:count]:
                told(None)

    def fail(self, error: LogError) -> None:
        waiting, self._waiting = self._waiting, []
        for _, told in waiting:
            told(error)


class WaitingReaders:
    """Those who look again when there is something new."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] | None = None

    def __len__(self) -> int:
        return len(self._waiting or ())

    def add(self, reader: "asyncio.Future[None]") -> None:
        if self._waiting is None:
            self._waiting = set()
        self._waiting.add(reader)

    def discard(self, reader: "asyncio.Future[None]") -> None:
        if self._waiting is not None:
            self._waiting.discard(reader)

    def wake(self) -> None:
        waiting, self._waiting = self._waiting, None
        for reader in waiting or ():
            if not reader.done():
                reader.set_result(None)
