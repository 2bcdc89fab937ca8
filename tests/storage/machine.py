"""One log on a disk that can fail: opened, written to, synced, crashed and opened again."""

from collections.abc import Coroutine
from random import Random
from typing import Any, TypeVar

import msgspec

from penstock.config.topic import TopicConfig
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import Record, decode_records
from penstock.storage.file_cache import FileCache
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from penstock.storage.log.values import Appended, LoadedLog, LogSlice
from penstock.storage.recovery.loader import Checkpointed, create_log, load_log
from penstock_simulation.disk import FaultyDisk, Keep
from tests.storage.logs import append_records

DIRECTORY = "/data/topic-0"
NOW_MS = 1_700_000_000_000

T = TypeVar("T")


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, as none of a log without an offload does."""
    try:
        work.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("it waits")


class Machine:
    """The log is new and its names are durable; `checkpointed` represents the checkpoint files of a broker."""

    def __init__(self, seed: int = 1, **settings: object) -> None:
        self.seed = seed
        self.now_ms = NOW_MS
        self.config = msgspec.convert(settings, TopicConfig)
        self.disk = FaultyDisk(Random(seed))
        self.disk.make_dirs(DIRECTORY)
        self.disk.sync_dir("/")
        self.disk.sync_dir("/data")
        self.checkpointed = Checkpointed(was_clean=False)
        self.cache = FileCache(self.disk)
        self._take(create_log(self.cache, DIRECTORY, self.config))
        self.disk.sync_dir(DIRECTORY)

    def open(self) -> Log:
        self.cache = FileCache(self.disk)
        loaded = load_log(self.cache, DIRECTORY, self.config, self.checkpointed, self.now_ms)
        return self._take(loaded)

    def _take(self, loaded: LoadedLog) -> Log:
        self.log = Log("topic", 0, DIRECTORY, self.config, loaded=loaded)
        return self.log

    def crash(self, keep: Keep = Keep.NOTHING, *, page_bytes: int = 4096, torn: int | None = None) -> Log:
        """Cut the power and open the log again; `torn` bytes of the newest segment's unsynced ones survive."""
        tears = None if torn is None else {self.active_path: torn}
        self.disk = self.disk.crash(keep, page_bytes=page_bytes, torn=tears)
        return self.open()

    def kill(self) -> Log:
        self.disk = self.disk.kill()
        return self.open()

    @property
    def active_path(self) -> str:
        return self.log.segments[-1].log_path

    def append(self, *values: str) -> Appended:
        """The headers keep a batch from ending in zeros, which fill a preallocated file."""
        records = [NewRecord(b"k", value.encode(), (("h", b"1"),), self.now_ms) for value in values]
        return append_records(self.log, build_batch(records), leader_epoch=0, now_ms=self.now_ms)

    def append_idempotent(self, producer_id: int, sequence: int, *values: str, epoch: int = 0) -> Appended:
        records = [NewRecord(b"k", value.encode(), (), self.now_ms) for value in values]
        batch = build_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        return append_records(self.log, batch, leader_epoch=0, now_ms=self.now_ms)

    def sync(self) -> bool:
        """As the flusher does; returns whether the sync succeeded."""
        job = self.log.begin_sync()
        try:
            job.run()
        except OSError as error:
            self.log.finish_sync(job, error)
            return False
        self.log.finish_sync(job)
        return True

    def checkpoint(self) -> None:
        """Sync everything, and let the next recovery start at the log's present end."""
        job = LogCheckpoint(self.log).begin()
        if job is None:
            return
        try:
            job.run()
        except OSError as error:
            LogCheckpoint(self.log).finish(job, error)
        else:
            LogCheckpoint(self.log).finish(job)
        self.checkpointed = Checkpointed(
            was_clean=False,
            recovery_point=self.log.recovery_point,
            log_start_offset=self.log.log_start_offset,
        )

    def read(self, offset: int) -> LogSlice:
        """The batches at `offset` as a consumer gets them, from memory or from the disk."""
        limit = self.log.log_end_offset
        cut = self.log.read(offset, 1 << 20, offset_limit=limit)
        if isinstance(cut, LogSlice):
            return cut
        return at_once(self.log.read_cold(offset, 1 << 20, offset_limit=limit))

    def records(self, offset: int | None = None) -> list[Record]:
        """Every record that a consumer reads from `offset` to the end."""
        next_offset = self.log.log_start_offset if offset is None else offset
        found: list[Record] = []
        while True:
            cut = self.read(next_offset)
            if not cut.records:
                return found
            for position, _ in iter_batches_strict(cut.records):
                found += decode_records(cut.records, pos=position)
            assert cut.next_offset > next_offset
            next_offset = cut.next_offset

    def values(self, offset: int | None = None) -> list[str]:
        return [(record.value or b"").decode() for record in self.records(offset)]
