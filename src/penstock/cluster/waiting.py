"""Long polls that wait for new records of a partition."""

import asyncio


class WaitingReaders(dict["asyncio.Future[None]", None]):
    """The waiting readers in the order in which they came.

    Most of thousands of partitions are idle: an empty dict is small, an empty set is not.
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
