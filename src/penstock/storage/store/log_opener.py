"""Opens the log of a partition: creates its files, or recovers it from its segments, checkpoints and the journal."""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from penstock.config.topic import TopicConfig
from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.storage.damage.checkpoint import DamageCheckpoint
from penstock.storage.damage.damage import Damage, Loss
from penstock.storage.directory import metadata_files
from penstock.storage.directory.checkpoints import CLEANED, RECOVERY_POINTS, PartitionName
from penstock.storage.directory.offset_checkpoints import OffsetCheckpoints
from penstock.storage.errors import LogCorrupt, StorageError
from penstock.storage.file_cache import FileCache
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.reading import PartitionId, Piece, first_unsynced
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.log.replay import replay_journal
from penstock.storage.log.values import LoadedLog
from penstock.storage.recovery.inventory import LogInventory
from penstock.storage.recovery.loader import Checkpointed, create_log, load_log
from penstock.storage.segment.segment import LOG
from penstock.storage.store.checkpointer import Checkpointer
from penstock.storage.store.log_directories import LogDirectories

_log = logging.getLogger(__name__)


class LogOpener:
    def __init__(
        self,
        cache: FileCache,
        directories: LogDirectories,
        checkpointer: Checkpointer,
        offsets: OffsetCheckpoints,
        damage: DamageCheckpoint,
        *,
        journal: Journal | None,
        is_journal_damaged: bool,
        was_clean: bool,
        producer_expiration_ms: Callable[[], int],
        clock: Clock,
        offload: Offload,
    ) -> None:
        self._cache = cache
        self._files = cache.files
        self._directories = directories
        self._checkpointer = checkpointer
        self._offsets = offsets
        self._damage = damage
        self._journal = journal
        self._is_journal_damaged = is_journal_damaged
        self._was_clean = was_clean
        self._producer_expiration_ms = producer_expiration_ms
        self._clock = clock
        self._offload = offload
        self._compacted = offsets.read(CLEANED)
        self._discard_files = directories.discard  # bound once for all logs
        self._defers_syncs = False
        self.has_lost_records = is_journal_damaged
        """Whether records of a log that was opened were durable, and are gone."""

    @contextlib.contextmanager
    def deferred_syncs(self) -> Iterator[None]:
        """Within it, logs may be opened with records that are not durable yet, so that many are synced concurrently."""
        self._defers_syncs = True
        try:
            yield
        finally:
            self._defers_syncs = False

    def belongs_to(self, name: PartitionName, topic_id: bytes, expected: LogInventory | None) -> bool:
        """Whether a directory holds the log of this topic. If not, it is renamed as stray.

        The inventory of the last clean stop is authoritative. Otherwise its `partition.metadata` decides, which a power
        cut can destroy before the first record is synced.
        """
        path = self._directories.path(name)
        found_id = metadata_files.read_topic_id(self._files, path)
        is_damaged = found_id is not None and metadata_files.is_damaged_uuid(found_id, topic_id)
        if is_damaged:
            found_id = None
        owner = found_id if expected is None else metadata_files.decode_uuid(expected.topic_id)
        if owner is not None and owner != topic_id:
            self.rename_as_stray(name, f"holds the log of topic id {metadata_files.encode_uuid(owner)}")
            return False
        if found_id != topic_id:
            if is_damaged or expected is not None:
                _log.warning(
                    "Wrote %s/%s again: it was missing or damaged", path, metadata_files.PARTITION_METADATA
                )
            metadata_files.write_topic_id(self._files, path, topic_id)
        return True

    def rename_as_stray(self, name: PartitionName, reason: str) -> None:
        """Keep a directory that belongs to no topic here, under another name."""
        self._directories.rename_as_stray(name, reason)
        self._offsets.forget(name)
        self._damage.forget(name)

    def create(self, name: PartitionName, topic_id: bytes, config: TopicConfig) -> Log:
        """Not synced here: the first sync of the log includes its directory and this one."""
        path = self._directories.path(name)
        lost_offset = self._offsets.without_log.pop(name, 0)
        if lost_offset > 0:
            self.has_lost_records = True
            _log.error(
                "Created an empty log in place of %s: the directory is missing, but held records up to offset %d. "
                "Replicas on other brokers repair it; without any, stop the broker and restore the directory from a "
                "backup. If the topic was deleted and created again meanwhile, nothing is lost",
                path,
                lost_offset - 1,
            )
        try:
            self._offsets.erase(name)
            self._damage.erase(name)
            self._directories.make(name, topic_id)
            loaded = create_log(
                self._cache, path, config, producer_expiration_ms=self._producer_expiration_ms()
            )
        except OSError as error:
            raise StorageError(f"cannot make the log {path}: {error.strerror}", error) from error
        return self._log(name, topic_id, config, loaded, is_new=True)

    def open(
        self, name: PartitionName, topic_id: bytes, config: TopicConfig, expected: LogInventory | None
    ) -> Log:
        pieces = self.pieces_of(topic_id, name.partition)
        committed_offset = self._offsets.high_watermarks.get(name, 0) if config.flush_messages == 1 else 0
        checkpointed = Checkpointed(
            was_clean=self._was_clean,
            recovery_point=self._offsets.recovery_points.get(name),
            log_start_offset=self._offsets.log_starts.get(name, 0),
            committed_offset=committed_offset,
            expected=expected,
            has_gaps=name in self._compacted,
            journaled=tuple((each.base_offset, each.end_offset) for each in pieces if not each.is_damaged),
            journal_start=first_unsynced(pieces, committed_offset, is_damaged=self._is_journal_damaged),
            journal_end=max((each.end_offset for each in pieces if each.is_damaged), default=0),
        )
        log, is_replayed = self._load(name, topic_id, config, checkpointed)
        while not is_replayed:
            # The journal has a gap too. Its records before the gap are in the segments now: recovery records the gap.
            end_offset = log.log_end_offset
            checkpointed = self._close_again(name, log, checkpointed)
            log, is_replayed = self._load(name, topic_id, config, checkpointed)
            if log.log_end_offset == end_offset:
                raise LogCorrupt(
                    f"{log.directory} ends at {end_offset}, and the journal has records behind that"
                )
        durable_offset = max(
            checkpointed.recovery_point or 0, checkpointed.committed_offset, checkpointed.journal_end
        )
        if pieces and log.log_end_offset < durable_offset:
            checkpointed = self._close_again(name, log, checkpointed)
            log, _ = self._load(name, topic_id, config, msgspec.structs.replace(checkpointed, journaled=()))
        if log.losses and not self._was_clean:
            self._secure_at_once(name, log)
        if self._journal is not None:
            self._journal.recovered(log)
        return log

    def _close_again(self, name: PartitionName, log: Log, checkpointed: Checkpointed) -> Checkpointed:
        """Close a log that is opened once more, because its recovery is not complete."""
        if log.losses:
            self._secure_at_once(name, log)
        log.abandon("it is opened again")
        return msgspec.structs.replace(checkpointed, recovery_point=log.recovery_point)

    def _secure_at_once(self, name: PartitionName, log: Log) -> None:
        """Let a recovery start at the end of a log that lacks records. Waits for the disk.

        From a lower point it would treat the gap as the end of the log, and cut records acknowledged from now on.
        """
        try:
            job = LogCheckpoint(log).begin(is_without_producers=log.producers.unverified_from is not None)
            if job is not None:
                job.run_noting_failure()
                LogCheckpoint(log).finish(job, job.failure)
            if log.failure is not None:
                return
            if log.recovery_point < log.log_end_offset:
                raise StorageError(
                    f"the recovery point of {log.directory} cannot be moved behind lost records"
                )
            self._offsets.recovery_points[name] = log.recovery_point
            self._offsets.prepare(RECOVERY_POINTS, self._offsets.recovery_points)()
        except OSError as error:
            raise StorageError(
                f"the recovery point of {log.directory} cannot be written: {error.strerror}", error
            ) from error

    def pieces_of(self, topic_id: bytes, partition: int) -> Sequence[Piece]:
        """The records that the journal holds for a partition after a crash."""
        return () if self._journal is None else self._journal.pieces_of(PartitionId(topic_id, partition))

    def _load(
        self, name: PartitionName, topic_id: bytes, config: TopicConfig, checkpointed: Checkpointed
    ) -> tuple[Log, bool]:
        """Returns also whether the journal's records were replayed, or lack some before their last."""
        loaded = load_log(
            self._cache,
            self._directories.path(name),
            config,
            checkpointed,
            self._clock.now_ms(),
            producer_expiration_ms=self._producer_expiration_ms(),
            defer_syncs=self._defers_syncs,
            on_lost_end=partial(self._save_loss, name),
        )
        self.has_lost_records = self.has_lost_records or loaded.has_lost_records
        # A log that never had a record was never synced, not even by a clean stop: the first sync includes its names.
        # Nor perhaps was a log that has no recovery point: a kill may have ended its first sync.
        is_new = loaded.log_end_offset == 0 or not (self._was_clean or checkpointed.recovery_point)
        log = self._log(name, topic_id, config, loaded, is_new=is_new)
        if not self._was_clean:
            log.mark_length_unsynced()
        pieces = self.pieces_of(topic_id, name.partition)
        is_replayed = replay_journal(log, pieces, now_ms=self._clock.now_ms())
        if is_replayed and log.durable_offset < log.log_end_offset and not self._defers_syncs:
            job = log.begin_direct_sync()
            job.run()
            log.finish_sync(job)
        return log, is_replayed

    def _log(
        self, name: PartitionName, topic_id: bytes, config: TopicConfig, loaded: LoadedLog, *, is_new: bool
    ) -> Log:
        log = Log(
            name.topic,
            name.partition,
            self._directories.path(name),
            config,
            loaded=loaded,
            offload=self._offload,
            discard=self._discard_files,
            is_new=is_new,
            topic_id=topic_id,
            journal=self._journal,
            observer=self._checkpointer,
        )
        sizes = {segment.base_offset: segment.size_bytes for segment in log.segments}
        known = [each for each in self._damage.known.get(name, ()) if not LogRepair(log).is_sound(each)]
        log.damaged.remember(known, sizes, log.log_start_offset, log.log_end_offset)
        self._find_losses_again(log)
        self._checkpointer.on_damage_change(log)
        return log

    def _save_loss(self, name: PartitionName, damage: Damage) -> None:
        """Waits for the disk."""
        self._damage.note(name, (*self._damage.known.get(name, ()), damage))
        self._checkpointer.save_damage()

    def _find_losses_again(self, log: Log) -> None:
        """Record unrepaired losses that an earlier start found: a compacted log does not show them."""
        found = {each.damage for each in log.losses}
        again = [
            Loss(
                path=f"{log.directory}/{each.segment:020d}{LOG}",
                what="lacked them at an earlier start",
                damage=each,
            )
            for each in log.damaged
            if not each.has_known_size and each not in found
        ]
        if again:
            self.has_lost_records = True
            log.losses = tuple(sorted((*log.losses, *again), key=lambda each: each.damage.base_offset))
