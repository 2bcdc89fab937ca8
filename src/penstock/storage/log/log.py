"""The log of one partition: its records, how far they are durable, their producers and leader epochs.

    log_start_offset <= recovery_point <= durable_offset <= log_end_offset

Everything below `durable_offset` survives a power cut; everything below `recovery_point` need not be checked after one.
Only the event loop calls a log, and no call waits for the disk longer than a write to the page cache takes, except for
a few calls that say so. Blocking work is handed out as a job (`begin_sync`), to be run on a thread and handed back
(`finish_sync`), or is awaited (`read_cold`).

Its parts: `segment.chain` has the records, `reader` reads them, `journal.records` collects the records for
the journal. Its clients: `append` (as a leader), `checkpoint`, `repair`, `replay`.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from penstock.config.topic import TopicConfig
from penstock.protocol.records.batch import NO_PRODUCER_ID
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.damage.ranges import DamagedRanges
from penstock.storage.errors import (
    LogClosed,
    LogCorrupt,
    OffsetOutOfRange,
    StorageError,
    StorageFailure,
)
from penstock.storage.files import Buffer, FileSystem
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.reading import PartitionId
from penstock.storage.journal.records import JournalRecords
from penstock.storage.leader_epochs import EpochEntry
from penstock.storage.log.reader import LogReader, SegmentsChanged
from penstock.storage.log.replicated import LEADER_EPOCH_MAX, prepare_replicated
from penstock.storage.log.timestamp_search import TimestampSearch
from penstock.storage.log.values import Appended, Cold, LoadedLog, LogSlice, TimestampOffset
from penstock.storage.producers.appends import note_stored
from penstock.storage.segment.chain import Discard, SegmentChain
from penstock.storage.segment.segment import Segment
from penstock.storage.segment.transaction_index import AbortedTransaction
from penstock.storage.storable_batch import StorableBatch
from penstock.storage.sync import SyncJob

NO_TOPIC_ID = bytes(16)
CHECKPOINT_BYTES = 64 << 20
CHECKPOINT_BATCHES = 200_000
"""A checkpoint is due after this many batches: reading and checking them takes a recovery a fraction of a second."""

_log = logging.getLogger(__name__)


def _ignore() -> None:
    pass


class LogObserver(Protocol):
    """Notified of changes that must be saved outside of the log's directory."""

    def on_checkpoint_due(self, log: "Log") -> None:
        """A checkpoint is worthwhile after the last appends, or an offset in a checkpoint file is no longer true."""
        ...

    def on_damage_change(self, log: "Log") -> None:
        """`Log.damaged` has changed."""
        ...


class Log:
    __slots__ = (
        "_journal",
        "_observer",
        "_pending",
        "_reader",
        "cache",
        "chain",
        "clean_offset",
        "config",
        "damage",
        "damaged",
        "directory",
        "durable_offset",
        "epochs",
        "failure",
        "generation",
        "idle_sweeps",
        "is_journaling",
        "log_start_offset",
        "losses",
        "offload",
        "on_durable",
        "on_suspicion",
        "own_epoch",
        "partition",
        "partition_id",
        "producers",
        "recovery_point",
        "segments_durable_offset",
        "snapshots",
        "syncing",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        directory: str,
        config: TopicConfig,
        *,
        loaded: LoadedLog,
        offload: Offload | None = None,
        discard: Discard | None = None,
        is_new: bool = False,
        topic_id: bytes = NO_TOPIC_ID,
        journal: Journal | None = None,
        observer: LogObserver | None = None,
    ) -> None:
        """`offload` runs reads that wait for the disk; without it they block the caller.

        `discard` gets the files of deleted segments, already renamed, and removes them where that may take time.
        """
        self.topic = topic
        self.partition = partition
        self.partition_id = PartitionId(topic_id, partition)
        self.directory = directory
        self.config = config
        self.cache = loaded.cache
        self.offload = offload or InlineOffload()
        self.chain = chain = SegmentChain(
            directory,
            config,
            loaded.cache,
            loaded.segments,
            end_offset=loaded.log_end_offset,
            discard=discard or self._remove_at_once,
        )
        chain.is_new = is_new
        chain.names_unsynced = is_new or not loaded.names_are_synced
        chain.unsynced = list(loaded.unsynced)
        self.log_start_offset = loaded.log_start_offset
        self.recovery_point = loaded.recovery_point
        self.durable_offset = loaded.durable_offset
        self.segments_durable_offset = loaded.durable_offset
        """Everything below survives a power cut without the journal."""
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.clean_offset = loaded.clean_offset
        """The offset where the last compaction ended and the next begins. None until the cleaner has looked it up."""
        self.damage = loaded.damage
        self.damaged = DamagedRanges(loaded.damaged, self._damage_changed)
        self.losses = loaded.losses
        """Records that were missing when the log was opened."""
        self.snapshots = loaded.snapshots
        self._reader = LogReader(chain, loaded.cache, self.offload, self.damaged)
        self.failure: StorageFailure | None = None
        self.generation = 0
        """Changes when records at the end are dropped: other records may have their offsets by now."""
        self.idle_sweeps = 0
        """How many times `LogStore.release_idle` has run since the log was last read or written."""
        self.on_durable: Callable[[], None] = _ignore
        """Called when `durable_offset` has grown, or the log has failed."""
        self.on_suspicion: Callable[[], None] = _ignore
        """Called when a read has found corrupt bytes."""
        self.own_epoch = -1
        """Producers of this cluster write from this leader epoch on, see `follow_own_epoch`; -1: from the beginning."""
        self.is_journaling = False
        """Whether a journal round that holds records of this log is being written."""
        self._observer = observer
        self._journal = journal
        self.syncing: SyncJob | None = None
        """The latest sync, while it has not ended."""
        self._pending: JournalRecords | None = None
        """Records for the next round of the journal; None when only a sync of the segments will do: too much was
        appended, or earlier records are not durable.
        """
        if self.durable_offset == chain.end_offset:
            self._pending = JournalRecords(self, chain.end_offset)

    def __repr__(self) -> str:
        return f"Log({self.topic}-{self.partition}, {self.log_start_offset} to {self.log_end_offset})"

    def configure(self, config: TopicConfig) -> None:
        """Apply new settings, from the next append on."""
        self.config = config
        self.chain.configure(config)

    @property
    def log_end_offset(self) -> int:
        return self.chain.end_offset

    @property
    def committed_offset(self) -> int:
        """Everything below may be acknowledged and read: it is durable, unless the topic waives that."""
        return self.durable_offset if self.config.flush_messages == 1 else self.chain.end_offset

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open, or whose end is not committed yet.

        Never below the log start: records there are deleted, and no client can be sent to read them.
        """
        unstable = self.producers.first_unstable_offset
        return None if unstable is None else max(unstable, self.log_start_offset)

    @property
    def first_missing_offset(self) -> int | None:
        """The first record that was missing when the log was opened, and still is."""
        missing = (loss.damage.base_offset for loss in self.losses if loss.damage in self.damaged)
        return next(missing, None)

    @property
    def segments(self) -> Sequence[Segment]:
        """Ascending; the last is active."""
        return self.chain.segments

    @property
    def size_bytes(self) -> int:
        return self.chain.size_bytes

    @property
    def files(self) -> FileSystem:
        """The file system, for paths of this log. Raises `LogClosed` once the log is closed."""
        return self.cache.files

    @property
    def is_closed(self) -> bool:
        """Whether it was closed or deleted: then it cannot even be read. After a disk failure it can."""
        return self.cache.refusal is not None

    def require_open(self) -> None:
        """Raises `LogClosed`."""
        refusal = self.cache.refusal
        if refusal is not None:
            raise refusal.with_traceback(None)

    # -- appending ------------------------------------------------------------------------------------

    def append_replicated(
        self,
        records: Buffer,
        *,
        now_ms: int,
        leader_epoch: int = LEADER_EPOCH_MAX,
        leader_epoch_min: int = -1,
    ) -> Appended | None:
        """Store batches from the leader of an epoch, with their offsets; None if there is no whole batch."""
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        batches = prepare_replicated(
            records, self.chain.end_offset, leader_epoch, leader_epoch_min=leader_epoch_min
        )
        if not batches:
            return None
        own = self._first_own(batches)
        if own is not None:
            self._store_replicated(batches[:own], now_ms)
            self.producers.forget_below(batches[own].base_offset)
        self._store_replicated(batches[own or 0 :], now_ms)
        return Appended(
            base_offset=batches[0].base_offset,
            last_offset=batches[-1].last_offset,
            leader_epoch=batches[-1].header.leader_epoch,
            log_append_time_ms=-1,
            log_start_offset=self.log_start_offset,
        )

    def _store_replicated(self, batches: list[StorableBatch], now_ms: int) -> None:
        if not batches:
            return
        self.store(batches, now_ms)
        for batch in batches:
            epoch = batch.header.leader_epoch
            if epoch != self.epochs.latest_epoch and epoch >= 0:
                self.epochs.assign(epoch, batch.base_offset)

    def store(self, batches: list[StorableBatch], now_ms: int) -> None:
        """Write batches, whose offsets continue after the last one: all or, raising `LogError`, none."""
        self.idle_sweeps = 0
        try:
            buffers = self.chain.write(batches, now_ms)
        except StorageFailure as failure:
            self.fail(failure)
            raise
        except StorageError:
            self.mark_length_unsynced()
            raise
        pending = self._pending
        if pending is not None and (not pending.add(buffers) or self.config.flush_messages != 1):
            self._pending = None
        producers = self.producers
        for batch in batches:
            if batch.header.producer_id != NO_PRODUCER_ID:
                aborted = note_stored(producers, batch)
                if aborted is not None:
                    self.chain.segments[self.chain.number_of(aborted.last_offset)].note_aborted(aborted)
        producers.end_offset = batches[-1].last_offset + 1

    def begin_epoch(self, epoch: int) -> None:
        """From here on the leader of this epoch writes; recorded before its first record, as in Kafka."""
        self.epochs.assign(epoch, self.chain.end_offset)
        self._forget_foreign_producers()

    def follow_own_epoch(self, epoch: int) -> None:
        """Forget the producers of earlier leader epochs: their ids are another cluster's, and those of others here.

        The log was a mirror of that cluster's. No transaction was open when it was promoted.
        """
        self.own_epoch = epoch
        self._forget_foreign_producers()

    def _forget_foreign_producers(self) -> None:
        start = None if self.own_epoch < 0 else self.epochs.start_from(self.own_epoch)
        if start is not None:
            self.producers.forget_below(start)

    def _first_own(self, batches: Sequence[StorableBatch]) -> int | None:
        """The number of the first batch with a producer of this cluster, if those before it are another's."""
        latest = self.epochs.latest_epoch
        if self.own_epoch < 0 or (latest is not None and latest >= self.own_epoch):
            return None
        numbers = (n for n, each in enumerate(batches) if each.header.leader_epoch >= self.own_epoch)
        return next(numbers, None)

    # -- reading --------------------------------------------------------------------------------------

    def read(
        self,
        offset: int,
        size_bytes_max: int,
        *,
        offset_limit: int,
        at_least_one: bool = True,
        check_crc: bool = False,
    ) -> LogSlice | Cold:
        """Whole batches of one segment, from the batch that contains `offset`, all below `offset_limit`.

        Never waits: returns `COLD` when the records are not in memory. Empty when nothing lies below the limit, or
        the first batch is larger than `size_bytes_max` and `at_least_one` is off. Raises `OffsetOutOfRange`, and
        `LogCorrupt` for records known to be damaged or, with `check_crc`, found to be damaged.
        """
        limit = self._read_limit(offset, offset_limit)
        try:
            return self._reader.read(
                offset, limit, size_bytes_max, at_least_one=at_least_one, check_crc=check_crc
            )
        except LogCorrupt:
            self.on_suspicion()
            raise

    async def read_cold(
        self, offset: int, size_bytes_max: int, *, offset_limit: int, at_least_one: bool = True
    ) -> LogSlice:
        """Like `read`, but off the loop: for records that must come from the disk, whose checksums are checked."""
        while True:
            limit = self._read_limit(offset, offset_limit)
            try:
                return await self._reader.read_cold(offset, limit, size_bytes_max, at_least_one=at_least_one)
            except SegmentsChanged:
                continue
            except LogCorrupt:
                self.on_suspicion()
                raise

    def _read_limit(self, offset: int, offset_limit: int) -> int:
        """The offset at which a read ends at the latest: after a failed sync, the durable offset."""
        end_offset = self.chain.end_offset
        if not self.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, end_offset)
        self.idle_sweeps = 0
        if self.failure is not None:
            self.require_open()
            end_offset = self.durable_offset
        limit = min(offset_limit, end_offset)
        return self._reader.before_damage(offset, limit) if self.damaged else limit

    async def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is `timestamp` or later."""
        return await self._search(lambda search: search.first_at_or_after(timestamp))

    async def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record that has the greatest timestamp of all."""
        return await self._search(lambda search: search.first_with_greatest())

    async def _search(
        self, find: Callable[[TimestampSearch], TimestampOffset | None]
    ) -> TimestampOffset | None:
        while True:
            self.require_open()
            self.idle_sweeps = 0
            try:
                return await self._reader.search(find, self.log_start_offset)
            except SegmentsChanged:
                continue

    def aborted_transactions(self, begin: int, end: int) -> list[AbortedTransaction]:
        """Transactions with records in [begin, end) that were aborted. May wait for a small file."""
        return self._reader.aborted_transactions(begin, end)

    def epoch_of(self, offset: int) -> int:
        """The leader epoch in which the record at `offset` was written, -1 when it is not known."""
        epoch = self.epochs.epoch_for(offset)
        return -1 if epoch is None else epoch

    def epoch_end_offset(self, epoch: int) -> EpochEntry:
        """The greatest known epoch at or below `epoch` and where it ends; (-1, -1) when there is none (KIP-101)."""
        return self.epochs.end_offset_for(epoch, self.chain.end_offset)

    # -- durability -----------------------------------------------------------------------------------

    def fail(self, failure: StorageFailure) -> None:
        """Accept no more writes: the state of the disk is unknown. Records known to be durable stay readable."""
        if self.failure is None:
            _log.error("%s-%d is offline for writes: %s", self.topic, self.partition, failure)
            self.failure = failure
            self.on_durable()

    def require_segment_sync(self) -> None:
        """Put nothing into the journal before a sync of the segments."""
        self._pending = None

    def mark_length_unsynced(self) -> None:
        """Put nothing into the journal before a sync of the segments: a truncation may be in memory only.

        A kill may have left one, and so may a write that the disk refused in part. Otherwise a power cut could put the
        truncated records in the place of later ones.
        """
        self._pending = None
        self.chain.note_unsynced(self.chain.active)

    @property
    def may_journal(self) -> bool:
        """Not while file names are not durable: recovery cannot place records of a file that is lost with its name."""
        if self._pending is None or self.chain.names_unsynced:
            return False
        return self.syncing is None or not self.syncing.covers_names

    def begin_journal(self, size_bytes_max: int) -> JournalRecords | None:
        """The records for the next round of the journal; None if the segments must be synced instead."""
        records = self._pending
        if (
            records is None
            or not records.buffers
            or records.size_bytes > size_bytes_max
            or not self.may_journal
        ):
            return None
        records.end_offset = self.chain.end_offset
        records.leader_epoch = self.epochs.latest_epoch or 0
        records.generation = self.generation
        self._pending = JournalRecords(self, records.end_offset)
        self.is_journaling = True
        return records

    def finish_journal(self, records: JournalRecords, error: StorageFailure | None) -> bool:
        """The round has ended. Returns as `finish_sync` does."""
        self.is_journaling = False
        if error is not None:
            self.fail(error)
        elif (
            self.failure is None
            and records.generation == self.generation
            and records.end_offset > self.durable_offset
        ):
            self.durable_offset = records.end_offset
            return True
        return False

    @property
    def has_unsynced(self) -> bool:
        chain = self.chain
        is_incomplete = self.durable_offset < chain.end_offset or chain.names_unsynced
        return is_incomplete or (self._pending is None and bool(chain.unsynced))

    def begin_direct_sync(self) -> SyncJob:
        """Like `begin_sync`, instead of a round of the journal."""
        job = self.begin_sync()
        self._pending = JournalRecords(self, self.chain.end_offset)
        return job

    def begin_sync(self, *, opens_files: bool = True) -> SyncJob:
        """A job that syncs everything appended so far; run it on a thread and pass it to `finish_sync`.

        Raises `OSError` when the files cannot be opened; nothing is begun then. Without `opens_files` the caller syncs
        the whole file system.
        """
        handles, directories = self.chain.take_unsynced(opens_files=opens_files)
        self.syncing = SyncJob(
            self.files,
            handles,
            directories,
            end_offset=self.chain.end_offset,
            generation=self.generation,
            before=self.syncing,
        )
        return self.syncing

    def finish_sync(self, job: SyncJob, error: OSError | None = None) -> bool:
        """The job ran: its records are durable or, after an error, in an unknown state, and the log has failed.

        Returns True if more is durable than before: then call `notify_durable`, which may take a while.
        """
        if self.syncing is job:
            self.syncing = None
        for handle in job.handles:
            self.cache.unpin(handle)
        if error is not None:
            # Never retried: the kernel may have dropped the dirty pages, and a second sync would "succeed".
            self.fail(
                StorageFailure(
                    f"the records of {self.directory} could not be synced to disk ({error.strerror or error}): "
                    "check the disk, then restart the broker"
                )
            )
        elif self.failure is None and job.generation == self.generation:
            self.segments_durable_offset = max(self.segments_durable_offset, job.end_offset)
            is_further = job.end_offset > self.durable_offset
            self.durable_offset = max(self.durable_offset, job.end_offset)
            # Bytes of a write that was refused after this sync had begun wait for another sync.
            is_all = job.end_offset == self.chain.end_offset and not self.chain.unsynced
            if self._pending is None and is_all and self.syncing is None:
                self._pending = JournalRecords(self, job.end_offset)
            return is_further
        return False

    def notify_durable(self) -> None:
        """Wake the waiters for newly durable records; waiters of a failed log were woken when it failed."""
        if self.failure is not None:
            return
        self.on_durable()
        chain = self.chain
        if chain.counted_bytes > CHECKPOINT_BYTES or chain.counted_batches > CHECKPOINT_BATCHES:
            self._checkpoint_due()

    def _checkpoint_due(self) -> None:
        if self._observer is not None:
            self._observer.on_checkpoint_due(self)

    # -- dropping -------------------------------------------------------------------------------------

    def truncate_to(self, offset: int, *, now_ms: int) -> int:
        """Drop the records from `offset` on, as a follower must after a change of leaders. Returns the new end.

        Batches are dropped whole, but the log start stays, as in Kafka: a log that starts in such a batch is empty
        then. Waits for the disk, and longer when producers must be read from the log again.
        Await `LogStore.allow_truncation` first, which lowers the recovery point on disk. Raises `StorageFailure`.
        """
        if offset >= self.chain.end_offset:
            # A leader that wrote nothing has an epoch here that no other replica has.
            self._end_at(self.chain.end_offset)
            return self.chain.end_offset
        self.generation += 1
        unverified_from = self.producers.unverified_from
        try:
            end_offset = self.chain.truncate_to(max(offset, self.log_start_offset))
        except StorageFailure as failure:
            self.fail(failure)
            raise
        if end_offset < self.log_start_offset:
            self.truncate_fully_and_start_at(self.log_start_offset)
            return self.log_start_offset
        self._end_at(end_offset)
        self._pending = None
        self.segments_durable_offset = min(self.segments_durable_offset, end_offset)
        self.clean_offset = min(self.clean_offset or 0, end_offset)
        self.snapshots.remove_above(end_offset)
        self.snapshots.restore(
            self.producers,
            self.chain.segments,
            log_start_offset=self.log_start_offset,
            end_offset=end_offset,
            now_ms=now_ms,
        )
        self._forget_foreign_producers()
        if unverified_from is not None and unverified_from < end_offset:
            # It may be repaired, but only `LogRepair.rebuild_producer_state` finds the aborted transactions.
            self.producers.mark_unverified(unverified_from)
        if self.producers.unverified_from is not None:
            self.on_suspicion()
        return end_offset

    def lower_recovery_point(self, offset: int) -> None:
        """Make recovery check the segment that holds `offset`, or will hold it, and everything after it."""
        base_offset = self.chain.segments[self.chain.number_of(offset)].base_offset
        self.recovery_point = min(self.recovery_point, base_offset, offset)
        self.generation += 1  # a checkpoint that is being written no longer counts

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop all records and continue at `offset`, as a follower must that has fallen behind the leader's start.

        If that may be below the recovery point, await `LogStore.allow_truncation` first. Raises `StorageFailure`.
        """
        self.generation += 1
        try:
            self.chain.restart_at(offset)
        except StorageFailure as failure:
            self.fail(failure)
            raise
        self.damaged.clear()
        self.log_start_offset = offset
        self.durable_offset = offset
        self._pending = None
        self.segments_durable_offset = 0
        if self._journal is not None:
            self._journal.forget(self.partition_id, self)
        self.clean_offset = 0
        self._end_at(offset)
        self.epochs.clear()
        self.producers.clear(offset)
        self.snapshots.clear()
        self._checkpoint_due()  # the saved start may be above the records appended from here on

    def _end_at(self, end_offset: int) -> None:
        self.durable_offset = min(self.durable_offset, end_offset)
        if self.recovery_point > end_offset:
            # Saved soon: after a crash, records appended from here on must not be treated as checked.
            self.recovery_point = end_offset
            self._checkpoint_due()
        self.epochs.truncate_from_end(end_offset)
        self.damaged.truncate_to(end_offset)

    def advance_log_start(self, offset: int) -> None:
        """Drop the records below `offset`; segments entirely below it are deleted, now or when it is safe."""
        if offset > self.chain.end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.chain.end_offset)
        if offset > self.log_start_offset:
            self._start_at(offset)
        self.delete_below_start()

    def delete_below_start(self) -> None:
        """Delete the segments below the start whose producers are in a snapshot: retries must still be known."""
        count = self.chain.number_of(self.log_start_offset)
        if len(self.producers):
            count = min(count, self.chain.number_of(self.snapshots.newest or 0))
        self.chain.delete_oldest(count)

    def _start_at(self, offset: int) -> None:
        self.log_start_offset = offset
        self.damaged.start_at(offset)
        self.epochs.truncate_from_start(offset)
        self.producers.advance_log_start(offset)
        self._checkpoint_due()

    def delete_oldest(self, count: int, *, now_ms: int) -> None:
        """Delete the `count` oldest segments; when that is all of them, the log rolls first."""
        if count >= len(self.chain.segments):
            self.chain.roll(now_ms)
            count = len(self.chain.segments) - 1
        self.advance_log_start(self.chain.segments[count].base_offset)

    def roll(self, *, now_ms: int) -> None:
        """Begin a new segment, unless the active one is empty."""
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        self.chain.roll(now_ms)

    def replace_segments(self, base_offset: int, size_bytes: int, replaced: Sequence[int]) -> None:
        """Register that a compacted segment replaces the segments with the base offsets `replaced`.

        Its files have their final names (`compaction.swap`). The replaced segments lie below the recovery point:
        recovery treats gaps between the segments above it as losses.
        """
        self.chain.replace(base_offset, size_bytes, replaced)

    # -- the end --------------------------------------------------------------------------------------

    def release(self) -> None:
        """Hold no open file and little memory until the log is used again."""
        self.chain.release()

    def abandon(self, reason: str) -> None:
        """Close all files as they are. Reads and writes raise `LogClosed` from now on: otherwise they would act on the
        files of another log, if a topic with the same name is created.
        """
        self.generation += 1
        closed = LogClosed(f"{self.directory} is closed: {reason}")
        if self.failure is None:
            self.failure = closed
        self.chain.close()
        self.cache.end(closed)

    def _damage_changed(self) -> None:
        if self._observer is not None:
            self._observer.on_damage_change(self)

    def _remove_at_once(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.cache.files.remove(path)
