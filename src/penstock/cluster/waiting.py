"""Who waits for news of a partition."""

import asyncio


class WaitingReaders(dict["asyncio.Future[None]", None]):
    """Those who look again when there is something new, in the order they came.

    There are thousands of partitions and most of them are idle: an empty dict is small, where a set is not.
    """

    __slots__ = ()

    def add(self, reader: "asyncio.Future[None]") -> None:
        self[reader] = None

    def discard(self, reader: "asyncio.Future[None]") -> None:
        self.pop(reader, None)

    def wake(self) -> None:
        waiting = list(self)
        self.clear()
        for reader in waiting:
            if not reader.done():
                reader.set_result(None)
