"""All logs of one data directory, and what the directory knows of them together.

    <data>/.lock                               held while a broker uses the directory
    <data>/meta.properties                     see `directory_files`
    <data>/.kafka_cleanshutdown                only after a clean stop
    <data>/segment-inventory                   see `inventory`
    <data>/*-offset-checkpoint                 see `checkpoints`
    <data>/damage-checkpoint                   see `damage_checkpoint`
    <data>/<topic>-<partition>/                a log
    <data>/<topic>-<partition>.<hex>-delete/   a log that was deleted and is being removed
    <data>/<topic>-<partition>.<hex>-stray/    the log of another topic that had the same name; never touched

Logs are opened when they are first asked for: a start after a clean stop costs the same for ten partitions and
for ten thousand. Only the event loop calls it.
"""

import asyncio
import contextlib
import logging
import os
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from penstock.config.topic import TopicConfig
from penstock.observability.clock import Clock, SystemClock
from penstock.observability.offload import InlineOffload, Offload
from penstock.storage import directory_files
from penstock.storage.aborted_transactions import index_checksums
from penstock.storage.checkpoints import CLEANED, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, PartitionName
from penstock.storage.damage_checkpoint import DamageCheckpoint, Damages
from penstock.storage.directory_files import Meta
from penstock.storage.directory_usage import DirectoryUsage, measure
from penstock.storage.file_cache import FileCache
from penstock.storage.files import FileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.inventory import LogInventory, SegmentInventory
from penstock.storage.journal.journal import Journal
from penstock.storage.journal.reading import FoundJournal, PartitionId, Piece, first_unsynced, read_journal
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.errors import DirectoryInUse, DirectoryMismatch, LogCorrupt, StorageError
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.log.replay import replay_journal
from penstock.storage.log.sync import CheckpointJob, SyncJob, sync_segments
from penstock.storage.log.values import LoadedLog
from penstock.storage.offset_checkpoints import OffsetCheckpoints
from penstock.storage.producer_state import EXPIRATION_MS_DEFAULT
from penstock.storage.recovery import Checkpointed, create_log, load_log
from penstock.storage.ring import SyncRing
from penstock.storage.unopened_check import UnopenedCheck

OPEN_FILES_MAX_DEFAULT = 1000
_IDLE_SWEEPS_TO_RELEASE = 2
_CHECKPOINTS_AT_ONCE = 2
_CLOSES_AT_ONCE = 4
_JOURNAL_PART = 32
"""The journal takes no more than this part of the disk."""
_DELETE = "-delete"
_STRAY = "-stray"

_log = logging.getLogger(__name__)


class LogStore:
    def __init__(
        self,
        directory: str,
        meta: Meta,
        files: FileSystem,
        *,
        clock: Clock,
        offload: Offload,
        open_files_max: int,
        producer_expiration_ms: int,
        lock: contextlib.ExitStack,
        journal_bytes: int,
        new_nonce: Callable[[], bytes],
        ring: SyncRing | None,
    ) -> None:
        """Use `LogStore.open`."""
        self.directory = directory
        self.cluster_id = meta.cluster_id
        self.node_id = meta.node_id
        self.directory_id = meta.directory_id
        self._files = files
        self._clock = clock
        self._offload = offload
        self._cache = FileCache(files, open_files_max)
        self.producer_expiration_ms = producer_expiration_ms
        """How long the logs that are opened from now on remember a producer that has gone quiet."""
        self._lock = lock
        self._discard_files = self._discard  # bound once for all logs
        self._leaves_syncs = False
        self._logs: dict[PartitionName, Log] = {}
        previous_epoch = directory_files.take_clean_mark(files, directory)
        self.was_clean = previous_epoch is not None
        self.broker_epoch = -1 if previous_epoch is None else previous_epoch
        """What this broker is registered with: until it is anew, what it was when it last stopped cleanly."""
        self._inventory = SegmentInventory(files, directory, previous_epoch)
        self.has_lost_records = False
        """Whether records of a log that was opened were durable, and are gone."""
        self._unopened = set(self._find_logs())
        if self._unopened and not self.was_clean:
            files.sync_dir(directory)  # a kill may have left the names of new logs in memory only
        self._offsets = OffsetCheckpoints(files, directory, self._unopened)
        self._compacted = self._offsets.read(CLEANED)
        self._damage = DamageCheckpoint(files, directory, self._unopened)
        self.journal = self._open_journal(journal_bytes, new_nonce, ring)
        self._due: dict[Log, None] = {}  # in the order they came: a simulation repeats itself
        self._tasks: set[asyncio.Task[None]] = set()
        self._saving = asyncio.Lock()
        self._checkpointing = asyncio.Lock()
        """Two checkpoints of one log at once would share a temporary file."""
        self._unfinished: set[asyncio.Future[None]] = set()
        """Checkpoints that have begun: they end, though whoever wanted them may be cancelled."""

    @classmethod
    def open(
        cls,
        directory: str,
        *,
        files: FileSystem,
        node_id: int,
        new_cluster_id: Callable[[], str],
        new_directory_id: Callable[[], bytes],
        clock: Clock | None = None,
        offload: Offload | None = None,
        open_files_max: int = OPEN_FILES_MAX_DEFAULT,
        producer_expiration_ms: int = EXPIRATION_MS_DEFAULT,
        journal_bytes: int = 0,
        ring: SyncRing | None = None,
    ) -> "LogStore":
        """Take the directory, which is made if it does not exist. `offload` is for reads and removals.

        Raises `DirectoryInUse` when another process has it, `DirectoryMismatch` when it is another broker's.
        """
        _make_durably(files, directory)
        with contextlib.ExitStack() as lock:
            try:
                lock.enter_context(files.lock(f"{directory}/{directory_files.LOCK}"))
            except BlockingIOError as error:
                raise DirectoryInUse(
                    f"another process is using {directory}: stop it, or give this broker another data directory"
                ) from error
            meta = directory_files.read_meta(files, directory)
            if meta is None:
                _require_no_logs(files, directory)
                meta = Meta(cluster_id=new_cluster_id(), node_id=node_id, directory_id=new_directory_id())
                directory_files.write_meta(files, directory, meta)
            elif meta.node_id != node_id:
                raise DirectoryMismatch(
                    f"{directory} belongs to node {meta.node_id}, and this is node {node_id}: set node.id to "
                    f"{meta.node_id}, or give another data directory"
                )
            directory_files.restrict_access(files, directory)
            return cls(
                directory,
                meta,
                files,
                clock=clock or SystemClock(),
                offload=offload or InlineOffload(),
                open_files_max=open_files_max,
                producer_expiration_ms=producer_expiration_ms,
                lock=lock.pop_all(),
                journal_bytes=journal_bytes,
                new_nonce=new_directory_id,
                ring=ring,
            )

    def _open_journal(
        self, size_bytes: int, new_nonce: Callable[[], bytes], ring: SyncRing | None
    ) -> Journal | None:
        """Reads what it holds, after a crash. Waits for the disk."""
        found = read_journal(
            self._files, self.directory, directory_id=self.directory_id, headers_only=self.was_clean
        )
        self.journal_damage = tuple(found.damage)
        self._knows_suspects = bool(found.files) and not found.damage
        for damage in found.damage:
            self.has_lost_records = True  # of partitions that are not all known
            _log.error(
                "%s. Records that were acknowledged just before the crash may be missing. Replicas on other brokers "
                "repair that; the partitions that are known to lack records are named below",
                damage,
            )
        try:
            if size_bytes == 0 and not found.pieces:
                self._remove_journal(found)
                return None
            return Journal(
                self._files,
                self.directory,
                self._offload,
                size_bytes=min(size_bytes, self._files.usage(self.directory).total_bytes // _JOURNAL_PART),
                found=found,
                new_nonce=new_nonce,
                directory_id=self.directory_id,
                ring=ring,
            )
        except OSError as error:
            if found.pieces:
                raise StorageError(
                    f"the journal in {self.directory} holds records that the logs may lack, and cannot be used: "
                    f"{error.strerror}. Check the disk, then start the broker again",
                    error,
                ) from error
            _log.warning(
                "the journal in %s cannot be used (%s): each partition is synced by itself",
                self.directory,
                error.strerror,
            )
            return None

    def _remove_journal(self, found: FoundJournal) -> None:
        """Oldest first, durably: the last one may say that the others mean nothing."""
        for each in found.files:
            self._files.remove(each.path)
            self._files.sync_dir(self.directory)

    def __iter__(self) -> Iterator[Log]:
        """The logs that are open."""
        return iter(self._logs.values())

    @property
    def partitions(self) -> set[PartitionName]:
        """All partitions that have a log here, open or not."""
        return self._unopened | self._logs.keys()

    @property
    def damage(self) -> Damages:
        """All damage that is known, by partition, in logs that are open and in others."""
        return self._damage.known

    def topic_id(self, topic: str, partition: int) -> bytes | None:
        """The id of the topic that a log here belongs to, if its directory names one."""
        return directory_files.read_topic_id(self._files, self._path(PartitionName(topic, partition)))

    def high_watermark(self, topic: str, partition: int) -> int | None:
        """What `save_high_watermarks` last wrote for this partition."""
        return self._offsets.high_watermarks.get(PartitionName(topic, partition))

    # -- opening and deleting -------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> Log | None:
        """The log of this partition, if it is open."""
        return self._logs.get(PartitionName(topic, partition))

    def open_or_create(self, topic: str, topic_id: bytes, partition: int, config: TopicConfig) -> Log:
        """The log of this partition: the open one, the one on disk, or a new one. Waits for the disk.

        A directory that another topic of the same name left behind is set aside.
        """
        name = PartitionName(topic, partition)
        log = self._logs.get(name)
        if log is not None:
            return log
        expected = self._inventory.take(name)
        if expected is not None:
            self._offsets.without_log.pop(name, None)
        is_there = name in self._unopened and self._belongs_to(name, topic_id, expected)
        if expected is not None and expected.topic_id != directory_files.encode_uuid(topic_id):
            expected = None
        if not is_there and (self._pieces_of(topic_id, partition) or (expected and expected.end_offset > 0)):
            self._make_directory(name, topic_id)  # to say what it has lost
            is_there = True
        log = (
            self._open(name, topic_id, config, expected) if is_there else self._create(name, topic_id, config)
        )
        self._unopened.discard(name)
        self._logs[name] = log
        return log

    @property
    def suspects(self) -> set[PartitionId] | None:
        """Which partitions may have lost something in a crash, by the journal; None when that is not known."""
        return None if self.journal is None or not self._knows_suspects else set(self.journal.unrecovered)

    async def sync_opened(self) -> None:
        """Make all durable that is open, with one sync of the file system; where there is none, nothing happens."""
        if not self._files.can_sync_all:
            return
        # Not those that are being synced: one job must not end before another that it relies on.
        logs = [log for log in self._logs.values() if log.has_unsynced and not (log.failure or log.syncing)]
        jobs = [(log, log.begin_sync(opens_files=False)) for log in logs]
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Not awaited itself: the jobs end though nobody waits any more, or a close would wait for them for ever.
        self._offload.call(partial(self._files.sync_all, self.directory), partial(_end_syncs, jobs, ended))
        await ended

    async def recovered(self, failed: Collection[PartitionId] = ()) -> None:
        """All partitions are open and synced that may have lost something, but for those that have failed.

        What else the journal names is not here any more.
        """
        if self.journal is not None:
            await self.journal.end_recovery(failed)

    def _belongs_to(self, name: PartitionName, topic_id: bytes, expected: LogInventory | None) -> bool:
        """Whether a directory holds the log of this topic. If not, it is set aside.

        The last clean stop knows it for sure. Else its `partition.metadata` does, which a power cut can take before the
        first record is synced.
        """
        path = self._path(name)
        found_id = directory_files.read_topic_id(self._files, path)
        is_damaged = found_id is not None and directory_files.is_damaged_uuid(found_id, topic_id)
        if is_damaged:
            found_id = None
        owner = found_id if expected is None else directory_files.decode_uuid(expected.topic_id)
        if owner is not None and owner != topic_id:
            self._rename_as_stray(name, f"holds the log of topic id {directory_files.encode_uuid(owner)}")
            return False
        if found_id != topic_id:
            if is_damaged or expected is not None:
                _log.warning(
                    "%s/%s is missing or damaged: written anew", path, directory_files.PARTITION_METADATA
                )
            directory_files.write_topic_id(self._files, path, topic_id)
        return True

    @contextlib.contextmanager
    def leaving_syncs(self) -> Iterator[None]:
        """Logs that are opened meanwhile may be left with records that are not durable: whoever opens many has them
        synced side by side.
        """
        self._leaves_syncs = True
        try:
            yield
        finally:
            self._leaves_syncs = False

    def _create(self, name: PartitionName, topic_id: bytes, config: TopicConfig) -> Log:
        """Not synced here: the first sync of the log includes its directory and this one."""
        path = self._path(name)
        lost_offset = self._offsets.without_log.pop(name, 0)
        if lost_offset > 0:
            self.has_lost_records = True
            _log.error(
                "%s is missing, but held records up to offset %d: it is made anew and begins at offset 0. Replicas on "
                "other brokers repair it; without any, stop the broker and restore the directory from a backup. If the "
                "topic was deleted and made again meanwhile, nothing is lost",
                path,
                lost_offset - 1,
            )
        try:
            self._offsets.make_way_for(name)
            self._damage.make_way_for(name)
            self._make_directory(name, topic_id)
            loaded = create_log(self._cache, path, config, producer_expiration_ms=self.producer_expiration_ms)
        except OSError as error:
            raise StorageError(f"cannot make the log {path}: {error.strerror}", error) from error
        return self._log(name, topic_id, config, loaded, is_new=True)

    def _make_directory(self, name: PartitionName, topic_id: bytes) -> None:
        path = self._path(name)
        self._files.make_dirs(path)
        directory_files.write_topic_id(self._files, path, topic_id)

    def _open(
        self, name: PartitionName, topic_id: bytes, config: TopicConfig, expected: LogInventory | None
    ) -> Log:
        pieces = self._pieces_of(topic_id, name.partition)
        committed_offset = self._offsets.high_watermarks.get(name, 0) if config.flush_messages == 1 else 0
        checkpointed = Checkpointed(
            was_clean=self.was_clean,
            recovery_point=self._offsets.recovery_points.get(name),
            log_start_offset=self._offsets.log_starts.get(name, 0),
            committed_offset=committed_offset,
            expected=expected,
            has_gaps=name in self._compacted,
            journaled=tuple((each.base_offset, each.end_offset) for each in pieces if not each.is_damaged),
            journal_start=first_unsynced(pieces, committed_offset, is_damaged=bool(self.journal_damage)),
            journal_end=max((each.end_offset for each in pieces if each.is_damaged), default=0),
        )
        log, is_replayed = self._load(name, topic_id, config, checkpointed)
        while not is_replayed:
            # The journal lacks something too. What it holds before that is in the segments now: recovery notes the gap.
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
        if log.losses and not self.was_clean:
            self._secure_at_once(name, log)
        if self.journal is not None:
            self.journal.recovered(log)
        return log

    def _close_again(self, name: PartitionName, log: Log, checkpointed: Checkpointed) -> Checkpointed:
        """Close a log that is opened once more, because its recovery is not complete."""
        if log.losses:
            self._secure_at_once(name, log)
        log.abandon("it is opened anew")
        return msgspec.structs.replace(checkpointed, recovery_point=log.recovery_point)

    def _secure_at_once(self, name: PartitionName, log: Log) -> None:
        """Let a recovery start at the end of a log that lacks records. Waits for the disk.

        From a lower point on it would take the gap for the end of the log, and cut what is acknowledged from now on.
        """
        try:
            job = LogCheckpoint(log).begin()
            if job is None:
                return
            job.run_noting_failure()
            LogCheckpoint(log).finish(job, job.failure)
            if log.failure is None:
                self._offsets.recovery_points[name] = log.recovery_point
                self._offsets.prepare(RECOVERY_POINTS, self._offsets.recovery_points)()
        except OSError as error:
            raise StorageError(
                f"the recovery point of {log.directory} cannot be written: {error.strerror}", error
            ) from error

    def _pieces_of(self, topic_id: bytes, partition: int) -> Sequence[Piece]:
        """What the journal holds for a partition after a crash."""
        return () if self.journal is None else self.journal.pieces_of(PartitionId(topic_id, partition))

    def _load(
        self, name: PartitionName, topic_id: bytes, config: TopicConfig, checkpointed: Checkpointed
    ) -> tuple[Log, bool]:
        """Whether the journal's records were replayed, too, or lack some before their last."""
        loaded = load_log(
            self._cache,
            self._path(name),
            config,
            checkpointed,
            self._clock.now_ms(),
            producer_expiration_ms=self.producer_expiration_ms,
            leaves_syncs=self._leaves_syncs,
        )
        self.has_lost_records = self.has_lost_records or loaded.has_lost_records
        # A log that never had a record was never synced, not even by a clean stop: the first sync includes its names.
        # Nor, for all we know, was one that has no recovery point, if it was a kill that ended its first sync.
        is_new = loaded.log_end_offset == 0 or not (self.was_clean or checkpointed.recovery_point)
        log = self._log(name, topic_id, config, loaded, is_new=is_new)
        if not self.was_clean:
            log.distrust_length()
        pieces = self._pieces_of(topic_id, name.partition)
        is_replayed = replay_journal(log, pieces, now_ms=self._clock.now_ms())
        if is_replayed and log.durable_offset < log.log_end_offset and not self._leaves_syncs:
            job = log.begin_direct_sync()
            job.run()
            log.finish_sync(job)
        return log, is_replayed

    async def find_changed(self) -> set[PartitionName]:
        """The partitions whose logs were not opened yet and are not as the last stop left them."""
        return {*await self._offload.run(self._inventory.changed), *self._offsets.without_log}

    def end_comparison(self) -> None:
        """All logs that should be there have been opened, or compared: a new one is new."""
        self._offsets.without_log.clear()

    async def is_unopened_suspect(
        self, topic: str, partition: int, rest: Callable[[], Awaitable[None]]
    ) -> bool:
        """Whether a log that was not used since a clean stop has damage, or cannot be checked without being opened.

        It stays closed. `rest` as in `LogRepair.check`. Raises `OSError`.
        """
        name = PartitionName(topic, partition)
        end_offset = self._offsets.recovery_points.get(name)
        if name not in self._unopened:
            return False
        if not self.was_clean or end_offset is None:
            return True
        check = UnopenedCheck(
            self._files,
            self._path(name),
            log_start_offset=self._offsets.log_starts.get(name, 0),
            end_offset=end_offset,
            offload=self._offload,
        )
        return await check.finds_damage(lambda: name in self._unopened, rest)

    def delete(self, topic: str, partition: int) -> None:
        """Take the log of this partition out of the directory; its files are removed in the background."""
        name = PartitionName(topic, partition)
        self._inventory.take(name)  # it may come back to this broker
        log = self._logs.pop(name, None)
        if log is None and name not in self._unopened:
            return
        if log is not None:
            log.abandon("its topic was deleted")
            self._due.pop(log, None)
        self._forget_in_journal(name, log)
        self._unopened.discard(name)
        self._offsets.forget(name)
        self._damage.forget(name)
        path = self._path(name)
        target = f"{path}.{uuid.uuid4().hex}{_DELETE}"
        try:
            self._files.rename(path, target)
        except OSError:
            self._unopened.add(name)  # a new topic of this name must not be given the old one's files
            raise
        self._in_background(partial(self._remove_directory, target))

    def _forget_in_journal(self, name: PartitionName, log: Log | None) -> None:
        if self.journal is None:
            return
        if log is not None:
            self.journal.forget(log.partition_id, log)
        elif self.journal.unrecovered:  # it could not be opened after a crash
            topic_id = self.topic_id(name.topic, name.partition)
            if topic_id is not None:
                self.journal.forget(PartitionId(topic_id, name.partition))

    async def drop(self, topic: str, partition: int) -> None:
        """Delete the log of a partition that goes on on other brokers. It may come back here, and then begins anew: so
        this returns when the journal holds nothing of it any more.
        """
        self.delete(topic, partition)
        if self.journal is not None and not await self.journal.written():
            raise StorageError(
                f"the journal in {self.directory} cannot be written: {topic}-{partition} may come back after a crash"
            )

    def set_aside(self, name: PartitionName) -> None:
        """Take a log out of the way that no topic here has: its topic was deleted just before a crash, say."""
        self._inventory.take(name)
        self._rename_as_stray(name, "belongs to no topic that this broker has")
        self._unopened.discard(name)

    def _rename_as_stray(self, name: PartitionName, reason: str) -> None:
        path = self._path(name)
        target = f"{path}.{uuid.uuid4().hex}{_STRAY}"
        self._files.rename(path, target)
        self._offsets.forget(name)
        self._damage.forget(name)
        _log.warning("%s %s: it is kept as %s, remove it when it is not needed", path, reason, target)

    def _log(
        self, name: PartitionName, topic_id: bytes, config: TopicConfig, loaded: LoadedLog, *, is_new: bool
    ) -> Log:
        log = Log(
            name.topic,
            name.partition,
            self._path(name),
            config,
            loaded=loaded,
            offload=self._offload,
            discard=self._discard_files,
            is_new=is_new,
            topic_id=topic_id,
            journal=self.journal,
            observer=self,
        )
        sizes = {segment.base_offset: segment.size_bytes for segment in log.segments}
        known = [each for each in self.damage.get(name, ()) if not LogRepair(log).is_sound(each)]
        log.damaged.remember(known, sizes, log.log_start_offset, log.log_end_offset)
        self.on_damage_change(log)
        return log

    def on_damage_change(self, log: Log) -> None:
        """New damage is written down at once, the end of old damage with the next checkpoint."""
        if self._damage.note(PartitionName(log.topic, log.partition), log.damaged):
            self._in_background(self._damage.prepare(self._is_unsynced))

    def _is_unsynced(self, name: PartitionName) -> bool:
        log = self._logs.get(name)
        return log is not None and log.has_unsynced

    def _path(self, name: PartitionName) -> str:
        return f"{self.directory}/{name.directory}"

    def _find_logs(self) -> Iterator[PartitionName]:
        for entry in self._files.list(self.directory):
            name = PartitionName.parse(entry)
            if name is not None:
                yield name
            elif entry.endswith(_DELETE):
                self._in_background(partial(self._remove_directory, f"{self.directory}/{entry}"))

    # -- removing -------------------------------------------------------------------------------------

    def _discard(self, paths: Sequence[str]) -> None:
        self._in_background(partial(self._remove_files, paths))

    def _in_background(self, work: Callable[[], None]) -> None:
        """Removing large files takes its time: not on the loop, if there is one."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            work()
        else:
            self._offload.start(work)

    def _remove_files(self, paths: Sequence[str]) -> None:
        for path in paths:
            try:
                self._files.remove(path)
            except OSError as error:
                _log.warning("cannot remove %s (%s): it is removed at the next start", path, error.strerror)

    def _remove_directory(self, path: str) -> None:
        try:
            self._files.sync_dir(self.directory)  # else a crash could bring the log back with files missing
            self._files.remove_tree(path)
            self._files.sync_dir(self.directory)
        except OSError as error:
            _log.warning("cannot remove %s (%s): it is removed at the next start", path, error.strerror)

    # -- keeping recovery short, and memory small -----------------------------------------------------

    def on_checkpoint_due(self, log: Log) -> None:
        """A log has something to write down. Without a loop it waits for the next checkpoint or the close."""
        self._due[log] = None
        with contextlib.suppress(RuntimeError):
            loop = asyncio.get_running_loop()
            if not self._tasks:
                task = loop.create_task(self._checkpoint_due())
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _checkpoint_due(self) -> None:
        while self._due:
            due, self._due = self._due, {}
            await self._checkpoint(due)

    async def checkpoint(self) -> None:
        """Let recovery start at the present end of every log. The broker calls it once a minute or so."""
        await self._checkpoint(self._logs.values())

    async def _checkpoint(self, logs: Iterable[Log]) -> None:
        """A few at a time: the syncs of a log wait for a checkpoint that has begun, even for one that is queued."""
        async with self._checkpointing:
            waiting = iter(list(logs))
            await asyncio.gather(*(self._checkpoint_each(waiting) for _ in range(_CHECKPOINTS_AT_ONCE)))
        await self.save_offsets()

    async def _checkpoint_each(self, logs: Iterator[Log]) -> None:
        for log in logs:
            await self._checkpoint_one(log)

    async def _checkpoint_one(self, log: Log) -> None:
        try:
            job = LogCheckpoint(log).begin()
        except OSError as error:
            _log.warning(
                "no checkpoint of %s (%s): recovery would take longer", log.directory, error.strerror
            )
            return
        if job is not None:
            await self._run_and_finish(log, job)

    async def _run_and_finish(self, log: Log, job: CheckpointJob) -> None:
        """Begin at once, and end though the caller is cancelled: the next sync of the log waits for this one."""
        running = self._offload.start(job.run_noting_failure)
        finishing = asyncio.ensure_future(self._finish(log, job, running))
        self._unfinished.add(finishing)
        finishing.add_done_callback(self._unfinished.discard)
        await asyncio.shield(finishing)

    async def _finish(self, log: Log, job: CheckpointJob, running: "asyncio.Future[None]") -> None:
        await running
        LogCheckpoint(log).finish(job, job.failure)

    async def allow_truncation(self, log: Log, offset: int) -> None:
        """Lower what the disk says is durable, so that the log may drop what it has from `offset` on, or go on there.

        Records appended in their place later must not pass for checked ones. Whoever truncates does so as soon as this
        returns, and first checks again whether it still may. Raises `LogError` or `OSError`.
        """
        name = PartitionName(log.topic, log.partition)
        if self.journal is not None:
            await self.journal.let_go(log)
        while self._is_durable_above(log, name, offset):  # also by what is saved while this waits
            if log.failure is not None:  # closed, say: the name may be that of another log now
                raise log.failure.with_traceback(None)
            log.lower_recovery_point(offset)
            if offset < self._offsets.highest(HIGH_WATERMARKS, name):  # after an unclean election
                # Not the offset itself: a batch that it lies in goes as a whole.
                await self.save_high_watermarks({name: log.recovery_point})
            if not await self.save_offsets():
                raise StorageError(f"{log.directory} is not truncated: its recovery point cannot be written")
            if self.journal is not None:
                await self.journal.let_go(log)

    def _is_durable_above(self, log: Log, name: PartitionName, offset: int) -> bool:
        """Whether a recovery would miss records from `offset` on, by what is saved or may be any moment."""
        saved = [self._offsets.highest(each, name) for each in (RECOVERY_POINTS, HIGH_WATERMARKS)]
        return offset < max(log.recovery_point, *saved)

    async def secure(self, log: Log) -> int:
        """Move the recovery point of one log to its end; gives the one that is on disk then.

        Compaction asks for it: recovery takes the gaps that it leaves for losses, so it must not look there.
        """
        async with self._checkpointing:
            await self._checkpoint_one(log)
        recovery_point = log.recovery_point
        return recovery_point if await self.save_offsets() else 0

    async def save_offsets(self) -> bool:
        """Write down recovery points and log starts; whether the disk took them."""
        async with self._saving:  # whoever waits for another's save to end finds what it saved on disk
            offsets = self._offsets
            held_back = await self._sync_around_starts()
            for name, log in self._logs.items():
                if log.failure is None:
                    offsets.recovery_points[name] = log.recovery_point
                # Even where a segment begins: that those below are gone may not be durable yet.
                if log in held_back:
                    continue
                if log.log_start_offset > 0:
                    offsets.log_starts[name] = log.log_start_offset
                else:
                    offsets.log_starts.pop(name, None)
            points = offsets.prepare(RECOVERY_POINTS, offsets.recovery_points)
            starts = offsets.prepare(LOG_STARTS, offsets.log_starts)
            try:
                await self._offload.run(points)
                await self._offload.run(starts)
            except OSError as error:
                _log.warning("cannot write the checkpoints of %s: %s", self.directory, error.strerror)
                return False
            if not self._damage.is_saved:
                await self._offload.run(self._damage.prepare(self._is_unsynced))
            return all(log.failure is not None for log in held_back)

    async def _sync_around_starts(self) -> set[Log]:
        """Sync the logs that start behind what their segments have durably; gives those that could not be.

        A start within a batch that only the journal has would let a recovery drop that batch.
        """
        early = [log for log in self._logs.values() if log.failure is None and _starts_unsynced(log)]
        await sync_segments(early, self._offload)
        return {log for log in self._logs.values() if _starts_unsynced(log)}

    async def save_high_watermarks(self, high_watermarks: Mapping[PartitionName, int]) -> None:
        """Write down the high watermarks, of which a follower that becomes leader knows by no other way."""
        self._offsets.high_watermarks.update(high_watermarks)
        await self._offload.run(self._offsets.prepare(HIGH_WATERMARKS, self._offsets.high_watermarks))

    def release_idle(self) -> None:
        """Close the files and drop the indexes of logs not used since the call before the last."""
        for log in self._logs.values():
            log.idle_sweeps += 1
            if log.idle_sweeps == _IDLE_SWEEPS_TO_RELEASE:
                log.release()

    async def measure(self, names: Iterable[PartitionName]) -> DirectoryUsage:
        """The room in the directory and the sizes of these logs, open or not. Raises `OSError`."""
        wanted = set(names)
        unopened = wanted & self._unopened
        usage = await self._offload.run(partial(measure, self._files, self.directory, unopened))
        for name in wanted & self._logs.keys():
            usage.size_bytes[name] = self._logs[name].size_bytes
        return usage

    # -- the end --------------------------------------------------------------------------------------

    async def close(self, flusher: Flusher | None = None) -> None:
        """Close every log so that the next start need not recover, and let go of the directory."""
        if flusher is not None:
            await flusher.drain()
        self._due.clear()
        if running := self._tasks | self._unfinished:
            await asyncio.wait(running)
        logs = list(self._logs.values())
        waiting = iter(logs)
        await asyncio.gather(*(self._close_each(waiting) for _ in range(_CLOSES_AT_ONCE)))
        is_clean = False
        try:
            is_clean = await self._leave_clean(logs)
        except OSError as error:
            _log.warning(
                "%s does not take the mark of a clean stop (%s): the next start looks through the logs",
                self.directory,
                error.strerror,
            )
        finally:
            if self.journal is not None:
                await self.journal.close(is_clean=is_clean)
            for log in logs:
                log.abandon("it was closed")
            self._cache.close()
            self._lock.close()

    async def _leave_clean(self, logs: Sequence[Log]) -> bool:
        """Save what the next start wants to know and leave the mark, if all is there that it stands for."""
        saved = [log.recovery_point for log in logs]
        await self.save_offsets()
        if self._unopened and not self.was_clean:
            return False
        await self._offload.run(self._write_inventory)  # counts only with the mark that follows it
        # Nobody is to append while that is written. Should anybody, the next start must look at it.
        is_clean = all(
            log.failure is None and log.log_end_offset == point and log.producers.unverified_from is None
            for log, point in zip(logs, saved, strict=True)
        )
        if is_clean:
            directory_files.leave_clean_mark(self._files, self.directory, self.broker_epoch)
        return is_clean

    def _write_inventory(self) -> None:
        opened = [
            LogInventory(
                name.topic,
                name.partition,
                directory_files.encode_uuid(log.partition_id.topic_id),
                log.log_start_offset,
                log.log_end_offset,
                tuple((segment.base_offset, segment.size_bytes) for segment in log.segments),
                tuple(each.damage for each in log.losses if each.damage in log.damaged),
                index_checksums(
                    self._files, self._path(name), (segment.base_offset for segment in log.segments)
                ),
            )
            for name, log in self._logs.items()
        ]
        self._inventory.write(self.broker_epoch, opened, self._unopened)

    async def _close_each(self, logs: Iterator[Log]) -> None:
        """Not all at once: each holds its files open meanwhile."""
        for log in logs:
            job = LogCheckpoint(log).begin_close()
            if job is not None:
                await self._run_and_finish(log, job)


def _end_syncs(
    jobs: Sequence[tuple[Log, SyncJob]],
    ended: "asyncio.Future[None]",
    _: object,
    error: BaseException | None,
) -> None:
    failure = error if error is None or isinstance(error, OSError) else OSError(str(error))
    for log, job in jobs:
        job.end(failure)
        if log.finish_sync(job, failure):
            log.notify_durable()
    if not ended.done():
        ended.set_result(None)
    if error is not failure and error is not None:
        raise error


def _starts_unsynced(log: Log) -> bool:
    return log.log_start_offset > log.segments_durable_offset


def _require_no_logs(files: FileSystem, directory: str) -> None:
    """A new `meta.properties` would make other logs of those that are there. Raises `DirectoryMismatch`."""
    logs = [name for name in files.list(directory) if PartitionName.parse(name) is not None]
    if logs:
        raise DirectoryMismatch(
            f"{directory}/{directory_files.META} is missing, but {len(logs)} partitions are there ({logs[0]}, …): "
            "restore it from a backup, or move the partitions away to begin anew"
        )


def _make_durably(files: FileSystem, directory: str) -> None:
    """Make a directory whose name survives a power cut, and with it everything that is synced below it."""
    missing = []
    path = directory
    while path and not files.exists(path):
        missing.append(path)
        path = os.path.dirname(path)
    files.make_dirs(directory)
    for made in missing:
        files.sync_dir(os.path.dirname(made) or ".")
