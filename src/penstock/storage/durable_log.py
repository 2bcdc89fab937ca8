"""The part of a log that makes what was appended survive: syncs, and checkpoints that shorten a recovery.

What blocks is handed out as a job, to be run on a thread and given back to `finish_sync` or `finish_checkpoint`.
"""

import logging
import os
from collections.abc import Callable, Sequence
from functools import partial

from penstock.config.topic import TopicConfig
from penstock.observability.offload import Offload
from penstock.storage.directory_files import PARTITION_METADATA
from penstock.storage.files import Buffer
from penstock.storage.journal.journal import Journal, Records
from penstock.storage.journal.reading import PartitionId
from penstock.storage.leader_epochs import encode_checkpoint
from penstock.storage.log_errors import StorageFailure
from penstock.storage.log_sync import CheckpointJob, Encode, SyncJob
from penstock.storage.log_values import LEADER_EPOCHS, LoadedLog
from penstock.storage.producer_snapshot import encode_snapshot
from penstock.storage.readable_log import ReadableLog
from penstock.storage.segment_chain import SegmentChain
from penstock.storage.storable_batch import StorableBatch

_log = logging.getLogger(__name__)

CHECKPOINT_BYTES = 64 << 20
CHECKPOINT_BATCHES = 200_000
"""A checkpoint is due after so much: reading and checking it again takes a recovery a fraction of a second."""


JOURNAL_BYTES_MAX = 64 << 10
"""What a log puts into one round of the journal at most: of more, the bytes cost more than a sync of its own."""


def _ignore() -> None:
    pass


class JournalJob:
    """Makes the records of a log below `end_offset` durable with a round of the journal."""

    __slots__ = ("end_offset", "failure", "generation", "records")

    def __init__(self, records: Records, generation: int) -> None:
        self.records = records
        self.end_offset = records.end_offset
        self.generation = generation
        self.failure: OSError | None = None


class DurableLog(ReadableLog):
    __slots__ = (
        "_batches_at_checkpoint",
        "_bytes_at_checkpoint",
        "_epochs_are_saved",
        "_is_new",
        "_journal",
        "_pending",
        "_pending_bytes",
        "_pending_from",
        "_snapshots",
        "is_journaling",
        "on_checkpoint_due",
        "on_durable",
        "partition_id",
        "segments_durable_offset",
        "syncing",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        chain: SegmentChain,
        config: TopicConfig,
        *,
        loaded: LoadedLog,
        offload: Offload,
        is_new: bool,
        topic_id: bytes,
        journal: Journal | None,
    ) -> None:
        super().__init__(topic, partition, chain, config, loaded=loaded, offload=offload)
        self.partition_id = PartitionId(topic_id, partition)
        self._journal = journal
        self._pending: list[Buffer] | None = None
        """What was appended since `_pending_from` and is to go into the journal; None when a sync of the segments is
        needed: too much was appended, or something before it is not durable.
        """
        self._pending_bytes = 0
        self._pending_from = 0
        self.is_journaling = False
        """Whether a round of the journal is on its way that holds records of this log."""
        self.segments_durable_offset = loaded.durable_offset
        """All below survives a power cut without the journal."""
        self.on_durable: Callable[[], None] = _ignore
        """Called when `durable_offset` has grown, or the log has failed."""
        self.on_checkpoint_due: Callable[[], None] = _ignore
        """Called when so much was appended that a checkpoint is worth its while."""
        self._snapshots = loaded.snapshots
        self._bytes_at_checkpoint = 0
        self._batches_at_checkpoint = 0
        self._epochs_are_saved = loaded.epochs_are_saved
        self.syncing: SyncJob | None = None
        """The latest sync, while it has not ended."""
        self._is_new = is_new
        chain.names_unsynced = is_new or not loaded.names_are_synced
        chain.unsynced = list(loaded.unsynced)
        if self.durable_offset == chain.end_offset:
            self._begin_pending()

    # -- the journal ----------------------------------------------------------------------------------

    def _begin_pending(self) -> None:
        """All that the log has is durable, or will be with the sync that begins now."""
        self._pending = []
        self._pending_bytes = 0
        self._pending_from = self.chain.end_offset

    def _found_durable(self) -> None:
        """By the journal, all that the log has survives a power cut, its names included."""
        self.durable_offset = self.chain.end_offset
        self.chain.names_unsynced = self._is_new = False
        self._begin_pending()

    def _distrust_length(self) -> None:
        """Put nothing into the journal before a sync of the segments: a truncation may be in memory only.

        A kill may have left one, and a write that the disk refused after it had taken a part of it. Else a power cut
        puts the truncated records in the place of later ones.
        """
        self._pending = None
        if self.chain.segments[-1] not in self.chain.unsynced:
            self.chain.unsynced.append(self.chain.segments[-1])

    def _add_pending(self, batches: Sequence[StorableBatch]) -> None:
        pending = self._pending
        if pending is None:
            return
        pending += [batch.data for batch in batches]
        self._pending_bytes += sum([batch.size_bytes for batch in batches])
        if self._pending_bytes > JOURNAL_BYTES_MAX or self._config.flush_messages != 1:
            self._pending = None

    @property
    def may_journal(self) -> bool:
        return self._pending is not None and not self._is_new and not self.chain.names_unsynced

    def begin_journal(self, size_bytes_max: int) -> JournalJob | None:
        """What to put into the next round of the journal; None when the segments are to be synced instead."""
        chain = self.chain
        pending = self._pending
        if not pending or self._pending_bytes > size_bytes_max or not self.may_journal:
            return None
        records = Records(
            self,
            self.epochs.latest_epoch or 0,
            self._pending_from,
            chain.end_offset,
            pending,
            self._pending_bytes,
        )
        self._begin_pending()
        self.is_journaling = True
        return JournalJob(records, self._generation)

    def finish_journal(self, job: JournalJob, error: StorageFailure | None) -> bool:
        """The round has ended. As `finish_sync`."""
        self.is_journaling = False
        if error is not None:
            self.fail(error)
        elif (
            self.failure is None
            and job.generation == self._generation
            and job.end_offset > self.durable_offset
        ):
            self.durable_offset = job.end_offset
            return True
        return False

    def begin_direct_sync(self) -> SyncJob:
        """Like `begin_sync`, instead of a round of the journal."""
        job = self.begin_sync()
        self._begin_pending()
        return job

    def sync_here(self) -> None:
        """Make durable what recovery has found. Waits for the disk. Raises `OSError`."""
        job = self.begin_direct_sync()
        job.run()
        self.finish_sync(job)

    def _note_truncated(self, end_offset: int) -> None:
        self._pending = None
        self.segments_durable_offset = min(self.segments_durable_offset, end_offset)

    # -- syncs ----------------------------------------------------------------------------------------

    def fail(self, failure: StorageFailure) -> None:
        """Take no more writes: what is on the disk is no longer known. What is known to be durable stays readable."""
        if self.failure is None:
            _log.error("%s-%d is offline for writes: %s", self.topic, self.partition, failure)
            self.failure = failure
            self.on_durable()

    @property
    def has_unsynced(self) -> bool:
        chain = self.chain
        is_incomplete = self.durable_offset < chain.end_offset or chain.names_unsynced
        return is_incomplete or (self._pending is None and bool(chain.unsynced))

    def begin_sync(self) -> SyncJob:
        """What to sync for everything appended so far; run it on a thread and give it to `finish_sync`.

        Raises `OSError` when the files cannot be opened; nothing is begun then.
        """
        chain = self.chain
        paths = [segment.log_path for segment in chain.unsynced]
        directories = [self.directory] if chain.names_unsynced else []
        if self._is_new:
            # Whose records they are must be as sure as the records: by it a new topic tells an old one's log.
            paths.append(f"{self.directory}/{PARTITION_METADATA}")
            directories.append(os.path.dirname(self.directory))
        handles = self._cache.pin_all(paths)
        if self._is_new:
            self._cache.forget(paths[-1])
            self._is_new = False
        for segment in chain.unsynced:
            segment.has_unsynced_size = False
        chain.unsynced = []
        chain.names_unsynced = False
        job = SyncJob(
            self._cache.files,
            handles,
            directories,
            end_offset=chain.end_offset,
            generation=self._generation,
            before=self.syncing,
        )
        self.syncing = job
        return job

    def finish_sync(self, job: SyncJob, error: OSError | None = None) -> bool:
        """The job ran: what it covers is durable or, with an error, nobody knows and the log has failed.

        Whether more is durable than before: then `tell_durable` is to be called, which may take a while.
        """
        if self.syncing is job:
            self.syncing = None
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
        elif self.failure is None and job.generation == self._generation:
            self.segments_durable_offset = max(self.segments_durable_offset, job.end_offset)
            if job.end_offset > self.durable_offset:
                self.durable_offset = job.end_offset
                # What a write left behind that was refused after this sync had begun waits for another sync.
                is_all = job.end_offset == self.chain.end_offset and not self.chain.unsynced
                if self._pending is None and is_all and self.syncing is None:
                    self._begin_pending()
                return True
        return False

    def tell_durable(self) -> None:
        """Tell whoever waits for what has become durable; who waited for a log that has ended since knows that."""
        if self.failure is not None:
            return
        self.on_durable()
        if self.is_checkpoint_due:
            self.on_checkpoint_due()

    @property
    def is_checkpoint_due(self) -> bool:
        chain = self.chain
        return (
            chain.bytes_written - self._bytes_at_checkpoint > CHECKPOINT_BYTES
            or chain.batches_written - self._batches_at_checkpoint > CHECKPOINT_BATCHES
        )

    def begin_checkpoint(self) -> CheckpointJob | None:
        """What to write so that recovery may start at the present end; None when it already may.

        Raises `OSError` when the files cannot be opened.
        """
        end_offset = self.chain.end_offset
        is_up_to_date = end_offset == self.recovery_point and not self._has_deletable
        if is_up_to_date or self.failure is not None:
            return None
        if self.producers.doubtful_from is not None:
            self._wait_for_next_checkpoint()
            return None  # doubts are not to be written down for facts
        index_paths: list[str] = []
        for segment in self.chain.segments[self.chain.number_of(self.recovery_point) :]:
            paths = segment.index_files_to_sync()
            if paths is None:
                self._make_room()
                return None  # recovery makes the indexes anew as long as it starts below them
            index_paths += paths
        sync = self.begin_sync()
        contents: dict[str, Encode] = {
            self._snapshots.path(end_offset): partial(encode_snapshot, self.producers.snapshot())
        }
        if not self._epochs_are_saved:
            contents[f"{self.directory}/{LEADER_EPOCHS}"] = partial(encode_checkpoint, self.epochs.entries)
            self._epochs_are_saved = True
        self._wait_for_next_checkpoint()
        return CheckpointJob(self._cache.files, sync, index_paths, contents)

    def _wait_for_next_checkpoint(self) -> None:
        self._bytes_at_checkpoint = self.chain.bytes_written
        self._batches_at_checkpoint = self.chain.batches_written

    @property
    def _has_deletable(self) -> bool:
        """Whether segments below the start wait for the producers to be written down."""
        return self.chain.number_of(self.log_start_offset) > 0

    def finish_checkpoint(self, job: CheckpointJob, error: OSError | None = None) -> None:
        """The job ran: move the recovery point, which the store then writes down."""
        if self.finish_sync(job.sync, error):
            self.tell_durable()  # a sync that ends later makes nothing more durable, and would tell nobody
        if self.is_closed:
            return
        if job.error is not None:
            _log.warning(
                "the checkpoint of %s failed (%s): recovery would take longer", self.directory, job.error
            )
            self._make_room()
        is_void = error is not None or job.error is not None or job.sync.generation != self._generation
        if is_void or self.producers.doubtful_from is not None:
            self._epochs_are_saved = False
            self._snapshots.remove_unlisted(job.sync.end_offset)
            return
        self.recovery_point = job.sync.end_offset
        if job.has_snapshot:
            self._snapshots.note_written(job.sync.end_offset, [s.base_offset for s in self.chain.segments])
            self._delete_below_start()

    def _delete_below_start(self) -> None:
        """Delete the segments below the start whose producers are written down: retries must still be known."""
        count = self.chain.number_of(self.log_start_offset)
        if len(self.producers):
            count = min(count, self.chain.number_of(self._snapshots.newest or 0))
        self._delete_oldest(count)

    def _make_room(self) -> None:
        """Delete the segments below the start though the producers cannot be written down: a full disk, which would
        stay full, is worse than not to know a producer that wrote nothing since, and only after a crash.
        """
        self._delete_oldest(self.chain.number_of(self.log_start_offset))

    def _delete_oldest(self, count: int) -> None:
        if count > 0:
            self._layout += 1
            self.chain.delete_oldest(count)
