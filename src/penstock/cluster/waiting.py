"""Who waits for news of a partition.

There are thousands of partitions and most of them are idle, so what is empty must be small.
"""

import asyncio


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
