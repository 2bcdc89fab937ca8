"""A store with one compacted log on a disk that can fail, its cleaner, and a reader of its records."""

import asyncio
import atexit
from collections.abc import Awaitable, Callable, Coroutine
from random import Random
from typing import Any, TypeVar

import msgspec

from penstock.config.topic import TopicConfig
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.record import Record, decode_records
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload
from penstock.storage.cleaner.cleaner import Cleaner, CleanerSettings
from penstock.storage.compaction.rewrite import CompactionJob, CompactionResult
from penstock.storage.compaction.worker import OffloadedCompactor
from penstock.storage.log.log import Log
from penstock.storage.log.values import Appended, LogSlice, Origin
from penstock.storage.store.log_store import LogStore
from penstock_simulation.disk import FaultyDisk, Keep
from tests.storage.logs import AnyTransaction, append_records

T = TypeVar("T")

TOPIC_ID = bytes(16)
NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
_runner = asyncio.Runner()  # one loop for thousands of stores
atexit.register(_runner.close)


class Partition:
    """As a replica shows its log to the cleaner."""

    is_open = True

    def __init__(self, log: Log) -> None:
        self.log = log

    @property
    def high_watermark(self) -> int:
        return self.log.committed_offset

    @property
    def last_stable_offset(self) -> int:
        unstable = self.log.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)


class _InterruptibleCompactor(OffloadedCompactor):
    """Runs the store's `before_swap` after the rewrite and before the swap."""

    def __init__(self, store: "KeyedStore") -> None:
        super().__init__(store.disk, InlineOffload())
        self._store = store

    async def run(self, job: CompactionJob) -> CompactionResult:
        result = await super().run(job)
        if self._store.before_swap is not None:
            await self._store.before_swap()
        return result


class _InterruptibleOffload(InlineOffload):
    """Runs the store's `after_offload` after each piece of the cleaner's work."""

    def __init__(self, store: "KeyedStore") -> None:
        self._store = store

    async def run(self, work: Callable[[], T]) -> T:
        result = work()
        if self._store.after_offload is not None:
            await self._store.after_offload()
        return result


class KeyedStore:
    """Everything runs inline; `run` makes the loop for the few things that need one."""

    def __init__(self, seed: int = 1, **settings: Any) -> None:
        settings.setdefault("cleanup_policy", ["compact"])
        settings.setdefault("segment_records", 3)
        settings.setdefault("min_cleanable_dirty_ratio", 0.0)
        self.settings = CleanerSettings()
        self.before_swap: Callable[[], Awaitable[None]] | None = None
        self.after_offload: Callable[[], Awaitable[None]] | None = None
        self.clock = ManualClock(NOW_MS)
        self.disk = FaultyDisk(Random(seed), clock=self.clock)
        self.broker_epoch = 0
        self.topics: dict[str, TopicConfig] = {"t": msgspec.convert(settings, TopicConfig)}
        self.open()

    def open(self) -> None:
        self.store = LogStore.open(
            "/data",
            files=self.disk,
            node_id=1,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: bytes(16),
            clock=self.clock,
        )
        self.broker_epoch += 1
        self.store.broker_epoch = self.broker_epoch
        self.logs = {
            topic: self.store.open_or_create(topic, TOPIC_ID, 0, config)
            for topic, config in self.topics.items()
        }
        self.cleaner = Cleaner(
            "/data",
            lambda: [Partition(log) for log in self.logs.values()],
            self.store.secure,
            files=self.disk,
            clock=self.clock,
            offload=_InterruptibleOffload(self),
            compactor=_InterruptibleCompactor(self),
            passes=self.store.passes,
            settings=lambda: self.settings,
        )

    def add_topic(self, topic: str, **settings: Any) -> Log:
        self.topics[topic] = msgspec.structs.replace(self.topics["t"], **settings)
        self.logs[topic] = self.store.open_or_create(topic, TOPIC_ID, 0, self.topics[topic])
        return self.logs[topic]

    def configure(self, **settings: Any) -> None:
        self.topics["t"] = msgspec.structs.replace(self.topics["t"], **settings)
        self.log.configure(self.topics["t"])

    @property
    def log(self) -> Log:
        return self.logs["t"]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return _runner.run(work)

    def crash(self, keep: Keep = Keep.NOTHING) -> None:
        self.disk = self.disk.crash(keep)
        self.open()

    def restart(self) -> None:
        self.run(self.store.close())
        self.open()

    # -- writing --------------------------------------------------------------------------------------

    def put(self, words: str, *, topic: str = "t") -> None:
        """One batch per word, synced: `a=1`, or `a` for a tombstone, or `=1` for a record without a key."""
        self.append_only(words, topic=topic)
        self.sync(topic)

    def append_only(self, words: str, *, topic: str = "t") -> None:
        for word in words.split():
            key, has_value, value = word.partition("=")
            record = NewRecord(
                key.encode() or None,
                value.encode() if has_value else None,
                (("h", b"1"),),
                self.clock.now_ms(),
            )
            self.append(build_batch([record]), topic=topic)

    def put_as(
        self, producer_id: int, sequence: int, word: str, *, is_transactional: bool = False
    ) -> Appended:
        key, _, value = word.partition("=")
        batch = build_batch(
            [NewRecord(key.encode(), value.encode(), (), self.clock.now_ms())],
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        appended = self.append(batch)
        self.sync()
        return appended

    def append(self, batch: bytes, *, topic: str = "t", origin: Origin = Origin.CLIENT) -> Appended:
        return append_records(
            self.logs[topic],
            batch,
            leader_epoch=0,
            now_ms=self.clock.now_ms(),
            origin=origin,
            permit=AnyTransaction(),
        )

    def sync(self, topic: str = "t") -> None:
        log = self.logs[topic]
        job = log.begin_sync()
        try:
            job.run()
        except OSError as error:
            log.finish_sync(job, error)
            raise
        log.finish_sync(job)

    # -- reading --------------------------------------------------------------------------------------

    def records(self, offset: int | None = None, *, topic: str = "t") -> list[Record]:
        log = self.logs[topic]
        next_offset = log.log_start_offset if offset is None else offset
        found: list[Record] = []
        while next_offset < log.log_end_offset:
            cut = log.read(next_offset, 1 << 20, offset_limit=log.log_end_offset)
            if not isinstance(cut, LogSlice):
                cut = self.run(log.read_cold(next_offset, 1 << 20, offset_limit=log.log_end_offset))
            if not cut.records:
                break
            for position, header in iter_batches_strict(cut.records):
                if not header.is_control:
                    found += decode_records(cut.records, pos=position)
            next_offset = cut.next_offset
        return [r for r in found if offset is None or r.offset >= offset]

    def text(self, offset: int | None = None, *, topic: str = "t") -> str:
        """Like `3:a=1 5:b`: offset, key and value of every record from `offset` on."""
        words = []
        for r in self.records(offset, topic=topic):
            value = "" if r.value is None else "=" + r.value.decode()
            words.append(f"{r.offset}:{(r.key or b'').decode()}{value}")
        return " ".join(words)

    def newest(self) -> dict[str, str | None]:
        """The newest value of each key."""
        table: dict[str, str | None] = {}
        for r in self.records():
            table[(r.key or b"").decode()] = None if r.value is None else r.value.decode()
        return table

    def compact(self) -> bool:
        return self.run(self.cleaner.compact_dirtiest())

    def sweep(self) -> int:
        return self.run(self.cleaner.sweep())

    def files(self, topic: str = "t") -> list[str]:
        return self.disk.list(f"/data/{topic}-0")
