"""The cleaner's running passes, and the logs that it must leave alone."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from penstock.storage.compaction.rewrite import CompactionResult
from penstock.storage.directory.checkpoints import PartitionName


class CleanerPasses:
    """The cleaner and those that truncate or remove logs share it."""

    __slots__ = ("_paused", "running")

    def __init__(self) -> None:
        self.running: dict[PartitionName, asyncio.Task[CompactionResult]] = {}
        self._paused: Counter[PartitionName] = Counter()

    def is_busy(self, name: PartitionName) -> bool:
        """Whether a pass over this log is running, or passes over it are paused."""
        return name in self.running or name in self._paused

    @contextlib.asynccontextmanager
    async def paused(self, topic: str, partition: int) -> AsyncIterator[None]:
        """End a running pass over this log, and begin none, while the block runs."""
        name = PartitionName(topic, partition)
        self._paused[name] += 1
        try:
            running = self.running.get(name)
            if running is not None:
                running.cancel()
                await asyncio.wait([running])
            yield
        finally:
            self._paused[name] -= 1
            if not self._paused[name]:
                del self._paused[name]
