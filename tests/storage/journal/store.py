"""A few partitions with one journal, on a disk that can fail: written to, crashed and opened again."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random

from penstock.config.topic import TopicConfig
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import Then
from penstock.storage.files import read_whole
from penstock.storage.flusher import Flusher
from penstock.storage.journal.entries import decode_header
from penstock.storage.journal.reading import list_files
from penstock.storage.log.log import Log
from penstock.storage.store.log_store import LogStore
from penstock.testing.offload import LoopOffload
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut
from tests.storage.journal.test_journal_model import values_of
from tests.storage.logs import NOW_MS, append, config_of

DATA = "/data"
JOURNAL = f"{DATA}/.journal.0"
TOPIC_ID = Random(1).randbytes(16)
OTHER_TOPIC_ID = Random(2).randbytes(16)


class _Slow(LoopOffload):
    def later(
        self, callback: Callable[..., None], work: Callable[[], object], then: Then, turns: int = 12
    ) -> None:
        if turns:
            asyncio.get_running_loop().call_soon(self.later, callback, work, then, turns - 1)
        else:
            super().later(callback, work, then)


class Store:
    """A store whose partitions have one record each, durable in their segments: later ones go to the journal.

    `acknowledged` is what each partition must have after a crash, `written` what it may have at most.
    """

    def __init__(
        self,
        partitions: int = 3,
        *,
        journal_bytes: int = 1 << 20,
        seed: int = 1,
        disk: FaultyDisk | None = None,
    ) -> None:
        self._random = Random(seed)
        self.journal_bytes = journal_bytes
        self.disk = disk or FaultyDisk(Random(seed))
        self.disk.make_dirs(DATA)
        self.disk.sync_dir("/")
        self.topic_ids = [TOPIC_ID] * partitions
        self.configs: dict[int, TopicConfig] = {}
        self.written: list[list[str]] = [[] for _ in range(partitions)]
        self.acknowledged: list[list[str]] = [[] for _ in range(partitions)]
        self.open()

    @classmethod
    async def made(cls, partitions: int = 3, *, journal_bytes: int = 1 << 20, seed: int = 1) -> "Store":
        store = cls(partitions, journal_bytes=journal_bytes, seed=seed)
        await store.write("first")
        return store

    def open(self) -> None:
        self.logs = LogStore.open(
            DATA,
            files=self.disk,
            node_id=1,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: self._random.randbytes(16),
            clock=ManualClock(NOW_MS),
            offload=LoopOffload(),
            journal_bytes=self.journal_bytes,
        )
        self.flusher = Flusher(LoopOffload(), ManualClock(), journal=self.logs.journal)

    def slow_down_journal(self) -> None:
        """Make each write and sync of the journal take some turns of the loop."""
        assert self.logs.journal is not None
        self.logs.journal._offload = _Slow()

    @property
    def partitions(self) -> range:
        return range(len(self.topic_ids))

    def log(self, partition: int) -> Log:
        config = self.configs.get(partition) or config_of()
        return self.logs.open_or_create("t", self.topic_ids[partition], partition, config)

    def is_journal_used_again(self) -> bool:
        """Whether a journal file has been reused, with a new header."""
        headers = [decode_header(read_whole(self.disk, path)) for path in list_files(self.disk, DATA)]
        return max(each.number for each in headers) > len(headers)

    # -- writing --------------------------------------------------------------------------------------

    def begin_write(
        self, value: str, partitions: Sequence[int] | None = None, *, epoch: int = 0
    ) -> "list[asyncio.Future[None]]":
        """Append to each partition, and ask for a sync."""
        waiters = []
        for partition in self.partitions if partitions is None else partitions:
            log = self.log(partition)
            text = f"{partition}-{value}"
            self.written[partition].append(text)
            append(log, text, epoch=epoch)
            waiters.append(self.flusher.sync(log))
        return waiters

    async def write(self, value: str, partitions: Sequence[int] | None = None, *, epoch: int = 0) -> None:
        """Append to each partition, in one round, and wait until all of it is acknowledged."""
        await asyncio.gather(*self.begin_write(value, partitions, epoch=epoch))
        self.note_acknowledged()

    def note_acknowledged(self) -> None:
        for partition in self.partitions:
            log = self.logs.get("t", partition)
            if log is not None:
                self.acknowledged[partition] = self.written[partition][: log.durable_offset]

    async def until_power_cut(self, work: Coroutine[object, object, None]) -> None:
        """Run `work`, to its end or until the power fails in it or in work that it waits for."""
        task = asyncio.ensure_future(work)
        while not task.done() and self.disk.has_power:
            await asyncio.sleep(0)
        if task.done():
            try:
                task.result()
            except PowerCut:
                return
        task.cancel()

    # -- crashes --------------------------------------------------------------------------------------

    async def crash(self, keep: Keep = Keep.NOTHING, *, page_bytes: int = 4096) -> None:
        self.disk = self.disk.crash(keep, page_bytes=page_bytes)
        await self.recover()

    async def kill(self) -> None:
        self.disk = self.disk.kill()
        await self.recover()

    async def recover(self) -> None:
        """As a broker starts."""
        await self.open_and_sync()
        await self.logs.recovered()

    async def open_and_sync(self) -> None:
        """All partitions are opened, then all are synced."""
        self.open()
        with self.logs.deferred_syncs():
            logs = [self.log(partition) for partition in self.partitions]
        await self.logs.sync_opened()
        for log in logs:
            await self.flusher.sync(log)

    async def values(self) -> list[list[str]]:
        return [await values_of(self.log(partition)) for partition in self.partitions]

    async def check(self) -> None:
        """All acknowledged records are there, no unwritten ones, and none is reported as damaged."""
        assert self.logs.journal_damage == ()
        for partition, found in enumerate(await self.values()):
            assert found == self.written[partition][: len(found)], f"t-{partition}: it was never written"
            acknowledged = self.acknowledged[partition]
            assert found[: len(acknowledged)] == acknowledged, f"t-{partition}: records are lost"
            assert self.log(partition).losses == ()
            self.written[partition] = found

    def segments(self) -> list[bytes]:
        """The bytes of the last segment of each partition, without the room behind its records."""
        contents = []
        for partition in self.partitions:
            segment = self.log(partition).segments[-1]
            file = self.disk.open(segment.log_path, writable=False)
            contents.append(bytes(file.read(segment.size_bytes, 0)))
            file.close()
        return contents
