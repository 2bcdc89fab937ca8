"""The log of one partition: what is in it, what is durable, who wrote it, and in which leader's time.

    log_start_offset <= recovery_point <= durable_offset <= log_end_offset

Everything below `durable_offset` survives a power cut; everything below `recovery_point` need not be looked at
after one. Only the event loop calls a log, and no call waits for the disk longer than a write to the page cache
takes, but for the rare ones that say so. What blocks is handed out as a job (`begin_sync`, `begin_checkpoint`,
`read_cold`) to be run on a thread.
"""

import logging
from collections.abc import Callable, Sequence

from penstock.config.topic import TopicConfig
from penstock.observability.offload import Offload
from penstock.protocol.records.validation import ValidationRules, rules_for
from penstock.storage.append import (
    Appended,
    Origin,
    StorableBatch,
    assign_offsets,
    prepare_produced,
    prepare_replicated,
)
from penstock.storage.cold_read import ColdRead
from penstock.storage.file_cache import FileCache
from penstock.storage.files import Buffer
from penstock.storage.leader_epochs import encode_checkpoint
from penstock.storage.log_errors import OffsetOutOfRange, StorageFailure
from penstock.storage.log_producers import (
    check_producers,
    note_stored,
    remove_snapshot,
    snapshot_path,
    superfluous_snapshots,
)
from penstock.storage.log_sync import CheckpointJob, SyncJob
from penstock.storage.log_values import COLD, LEADER_EPOCHS, Cold, LoadedLog, LogSlice
from penstock.storage.producer_snapshot import encode_snapshot
from penstock.storage.segment import Segment
from penstock.storage.segment_chain import Discard, SegmentChain
from penstock.storage.segment_read import NotCached
from penstock.storage.transaction_index import AbortedTransaction

_log = logging.getLogger(__name__)


def _ignore(_: "Log") -> None:
    pass


class Log:
    __slots__ = (
        "_bytes_at_checkpoint",
        "_cache",
        "_config",
        "_discard",
        "_epochs_are_saved",
        "_generation",
        "_on_durable",
        "_rules",
        "_snapshot_offsets",
        "chain",
        "damage",
        "directory",
        "durable_offset",
        "epochs",
        "failure",
        "is_used",
        "log_start_offset",
        "partition",
        "producers",
        "recovery_point",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        directory: str,
        config: TopicConfig,
        *,
        cache: FileCache,
        loaded: LoadedLog,
        on_durable: Callable[["Log"], None] = _ignore,
        discard: Discard | None = None,
    ) -> None:
        """`on_durable` is called when `durable_offset` has grown, or the log has failed.

        `discard` gets the files of deleted segments, already renamed, to remove them where it may take its time.
        """
        self.topic = topic
        self.partition = partition
        self.directory = directory
        self.log_start_offset = loaded.log_start_offset
        self.durable_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        self.producers = loaded.producers
        self.epochs = loaded.epochs
        self.damage = loaded.damage
        self.failure: StorageFailure | None = None
        self.is_used = True
        """Set whenever the log is read or written; whoever releases idle logs clears it."""
        self._cache = cache
        self._config = config
        self._discard = discard or self._remove_at_once
        self._on_durable = on_durable
        self.chain = SegmentChain(
            directory, config, cache, loaded.segments, end_offset=loaded.log_end_offset, discard=self._discard
        )
        self._snapshot_offsets = loaded.snapshot_offsets
        self._rules: ValidationRules | None = None
        self._generation = 0
        self._bytes_at_checkpoint = 0
        self._epochs_are_saved = True

    def __repr__(self) -> str:
        return f"Log({self.topic}-{self.partition}, {self.log_start_offset} to {self.log_end_offset})"

    @property
    def config(self) -> TopicConfig:
        return self._config

    def reconfigure(self, config: TopicConfig) -> None:
        """Take new settings; they apply from the next append on."""
        self._config = config
        self._rules = None
        self.chain.reconfigure(config)

    @property
    def log_end_offset(self) -> int:
        return self.chain.end_offset

    @property
    def committed_offset(self) -> int:
        """All below may be acknowledged and shown: what is durable, unless the topic waives that."""
        return self.durable_offset if self._config.flush_messages == 1 else self.chain.end_offset

    @property
    def segments(self) -> Sequence[Segment]:
        """Ascending; the last is active."""
        return self.chain.segments

    @property
    def size_bytes(self) -> int:
        return self.chain.size_bytes

    # -- appending ------------------------------------------------------------------------------------

    def append(
        self, records: Buffer, *, leader_epoch: int, now_ms: int, origin: Origin = Origin.CLIENT
    ) -> Appended:
        """Store batches as the leader: all of them or, with an exception, none.

        They are visible to `read` at once, and durable when `durable_offset` has passed them. Writes the offsets
        into `records` when it is writable. Raises `AppendRejected`, `StorageError` or `StorageFailure`.
        """
        if self.failure is not None:
            raise self.failure
        rules = self._rules
        if rules is None:
            rules = self._rules = rules_for(self._config)
        is_from_client = origin is Origin.CLIENT
        batches = prepare_produced(records, rules, now_ms, is_from_client=is_from_client)
        duplicate = check_producers(self.producers, batches, is_from_client=is_from_client)
        if duplicate is not None:
            return Appended(
                base_offset=duplicate.first_offset,
                last_offset=duplicate.last_offset,
                log_append_time_ms=duplicate.timestamp if rules.is_log_append_time else -1,
                log_start_offset=self.log_start_offset,
                duplicate=True,
            )
        base_offset = self.chain.end_offset
        assign_offsets(batches, base_offset, leader_epoch)
        self._store(batches, now_ms)
        if leader_epoch != self.epochs.latest_epoch and leader_epoch >= 0:
            self._assign_epoch(leader_epoch, base_offset)
        return Appended(
            base_offset=base_offset,
            last_offset=self.chain.end_offset - 1,
            log_append_time_ms=now_ms if rules.is_log_append_time else -1,
            log_start_offset=self.log_start_offset,
        )

    def append_replicated(self, records: Buffer, *, now_ms: int) -> Appended | None:
        """Store batches fetched from the leader, with the offsets they have; None when there is no whole one."""
        if self.failure is not None:
            raise self.failure
        batches = prepare_replicated(records, self.chain.end_offset)
        if not batches:
            return None
        self._store(batches, now_ms)
        for batch in batches:
            epoch = batch.header.leader_epoch
            if epoch != self.epochs.latest_epoch and epoch >= 0:
                self._assign_epoch(epoch, batch.base_offset)
        return Appended(
            base_offset=batches[0].base_offset,
            last_offset=batches[-1].last_offset,
            log_append_time_ms=-1,
            log_start_offset=self.log_start_offset,
        )

    def _store(self, batches: list[StorableBatch], now_ms: int) -> None:
        self.is_used = True
        try:
            self.chain.write(batches, now_ms)
        except StorageFailure as failure:
            self.fail(failure)
            raise
        for batch in batches:
            completed = note_stored(self.producers, batch)
            if completed is not None and completed.is_aborted:
                segment = self.chain.segments[self.chain.number_of(completed.last_offset)]
                segment.note_aborted(AbortedTransaction.of(completed))

    def _assign_epoch(self, epoch: int, start_offset: int) -> None:
        if self.epochs.assign(epoch, start_offset):
            self._epochs_are_saved = False

    def fail(self, failure: StorageFailure) -> None:
        """Take no more writes: what is on the disk is no longer known. What is known to be durable stays readable."""
        if self.failure is None:
            _log.error("%s-%d is offline for writes: %s", self.topic, self.partition, failure)
            self.failure = failure
            self._on_durable(self)

    # -- reading --------------------------------------------------------------------------------------

    def read(
        self, offset: int, size_bytes_max: int, *, offset_limit: int, at_least_one: bool = True
    ) -> LogSlice | Cold:
        """Whole batches of one segment, from the one that contains `offset`, all below `offset_limit`.

        Never waits: gives `COLD` when the records are not in memory. Empty when nothing lies below the limit, or
        the first batch is larger than `size_bytes_max` and `at_least_one` is off. Raises `OffsetOutOfRange`.
        """
        limit = self._check_range(offset, offset_limit)
        if offset >= limit:
            return LogSlice(b"", offset)
        try:
            cut = self.chain.read(offset, limit, size_bytes_max, at_least_one=at_least_one)
        except NotCached:
            return COLD
        return LogSlice(b"", offset) if cut is None else LogSlice(cut.data, cut.next_offset)

    async def read_cold(
        self,
        offset: int,
        size_bytes_max: int,
        *,
        offset_limit: int,
        offload: Offload,
        at_least_one: bool = True,
    ) -> LogSlice:
        """Like `read`, on a thread of `offload`: for records that must come from the disk."""
        while True:
            limit = self._check_range(offset, offset_limit)
            if offset >= limit:
                return LogSlice(b"", offset)
            generation = self._generation
            cut = None
            for segment in self.chain.segments[self.chain.number_of(offset) :]:
                if segment.base_offset >= limit:
                    break
                cold = ColdRead(
                    self._cache,
                    segment,
                    offset=offset,
                    offset_limit=limit,
                    size_bytes_max=size_bytes_max,
                    at_least_one=at_least_one,
                )
                try:
                    cut = await offload.run(cold.run)
                finally:
                    cold.end(is_current=generation == self._generation)
                if cut is not None or generation != self._generation:
                    break
            if generation == self._generation:  # else the log was truncated meanwhile: look again
                return LogSlice(b"", offset) if cut is None else LogSlice(cut.data, cut.next_offset)

    def _check_range(self, offset: int, offset_limit: int) -> int:
        """The limit for reads, which after a failed sync is what is known to be durable."""
        end_offset = self.chain.end_offset
        if not self.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, end_offset)
        self.is_used = True
        if self.failure is not None:
            end_offset = self.durable_offset
        return min(offset_limit, end_offset)

    # -- making durable -------------------------------------------------------------------------------

    @property
    def has_unsynced(self) -> bool:
        return self.durable_offset < self.chain.end_offset or self.chain.names_unsynced

    def begin_sync(self) -> SyncJob:
        """What to sync for everything appended so far; run it on a thread and give it to `finish_sync`."""
        chain = self.chain
        handles = [self._cache.pin(segment.log_path) for segment in chain.unsynced]
        directory = self.directory if chain.names_unsynced else None
        chain.unsynced = []
        chain.names_unsynced = False
        return SyncJob(self._cache.files, handles, directory, chain.end_offset, self._generation)

    def finish_sync(self, job: SyncJob, error: OSError | None = None) -> None:
        """The job ran: what it covers is durable or, with an error, nobody knows and the log has failed."""
        for handle in job.handles:
            self._cache.unpin(handle)
        if error is not None:
            # Never tried again: the kernel may have dropped the dirty pages, and a second sync would "succeed".
            self.fail(
                StorageFailure(
                    f"the records of {self.directory} could not be synced to disk ({error.strerror or error}): "
                    "check the disk, then restart the broker"
                )
            )
        elif job.generation == self._generation and job.end_offset > self.durable_offset:
            self.durable_offset = job.end_offset
            self._on_durable(self)

    @property
    def bytes_since_checkpoint(self) -> int:
        return self.chain.bytes_written - self._bytes_at_checkpoint

    def begin_checkpoint(self) -> CheckpointJob | None:
        """What to write so that recovery may start at the present end; None when it already may."""
        end_offset = self.chain.end_offset
        if end_offset == self.recovery_point or self.failure is not None:
            return None
        index_paths: list[str] = []
        for segment in self.chain.segments[self.chain.number_of(self.recovery_point) :]:
            paths = segment.index_files_to_sync()
            if paths is None:
                return None  # recovery makes the indexes anew as long as it starts below them
            index_paths += paths
        contents = {snapshot_path(self.directory, end_offset): encode_snapshot(self.producers.snapshot())}
        if not self._epochs_are_saved:
            contents[f"{self.directory}/{LEADER_EPOCHS}"] = encode_checkpoint(self.epochs.entries)
            self._epochs_are_saved = True
        self._bytes_at_checkpoint = self.chain.bytes_written
        return CheckpointJob(self._cache.files, self.begin_sync(), index_paths, contents)

    def finish_checkpoint(self, job: CheckpointJob, error: OSError | None = None) -> None:
        """The job ran: move the recovery point, which the store then writes down."""
        self.finish_sync(job.sync, error)
        if job.error is not None:
            _log.warning(
                "the checkpoint of %s failed (%s): recovery would take longer", self.directory, job.error
            )
        if error is not None or job.error is not None or job.sync.generation != self._generation:
            self._epochs_are_saved = False
            return
        self.recovery_point = job.sync.end_offset
        self._snapshot_offsets.append(job.sync.end_offset)
        bases = [segment.base_offset for segment in self.chain.segments]
        for offset in superfluous_snapshots(self._snapshot_offsets, bases):
            self._snapshot_offsets.remove(offset)
            remove_snapshot(self._cache.files, self.directory, offset)

    # -- the rest -------------------------------------------------------------------------------------

    def _remove_at_once(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._cache.files.remove(path)
