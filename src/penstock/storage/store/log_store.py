"""All logs of one data directory, and the files that it keeps for all of them.

    <data>/.lock                               held while a broker uses the directory
    <data>/meta.properties                     see `directory.metadata_files`
    <data>/.kafka_cleanshutdown                only after a clean stop
    <data>/segment-inventory                   see `recovery.inventory`
    <data>/*-offset-checkpoint                 see `directory.checkpoints`
    <data>/damage-checkpoint                   see `damage.checkpoint`
    <data>/<topic>-<partition>/                a log
    <data>/<topic>-<partition>.<hex>-delete/   a log that was deleted and is being removed
    <data>/<topic>-<partition>.<hex>-stray/    the log of another topic that had the same name; never touched

Logs are opened on first use: a start after a clean stop costs the same for ten partitions and for ten thousand.
Only the event loop calls it.
"""

import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from penstock.config.topic import TopicConfig
from penstock.runtime.clock import Clock, SystemClock
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.cleaner.passes import CleanerPasses
from penstock.storage.damage.checkpoint import DamageCheckpoint, Damages
from penstock.storage.direct import wait_for_direct_writes
from penstock.storage.directory import metadata_files
from penstock.storage.directory.checkpoints import (
    PartitionName,
)
from penstock.storage.directory.metadata_files import Meta
from penstock.storage.directory.offset_checkpoints import OffsetCheckpoints
from penstock.storage.directory.usage import DirectoryUsage, measure
from penstock.storage.errors import (
    DirectoryInUse,
    DirectoryMismatch,
    StorageError,
)
from penstock.storage.file_cache import FileCache
from penstock.storage.files import FileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.journal.reading import PartitionId, list_files, read_journal
from penstock.storage.log.log import Log
from penstock.storage.producers.aborted_transactions import index_checksums
from penstock.storage.producers.state import EXPIRATION_MS_DEFAULT
from penstock.storage.recovery.inventory import LogInventory, SegmentInventory
from penstock.storage.recovery.unopened_check import UnopenedCheck
from penstock.storage.ring import SyncRing
from penstock.storage.store.checkpointer import Checkpointer
from penstock.storage.store.journal_opening import open_journal
from penstock.storage.store.log_directories import LogDirectories
from penstock.storage.store.log_opener import LogOpener
from penstock.storage.store.volume_sync import VolumeSync

OPEN_FILES_MAX_DEFAULT = 1000
_IDLE_SWEEPS_TO_RELEASE = 2

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
        self._offload = offload
        self._cache = FileCache(files, open_files_max)
        self.producer_expiration_ms = producer_expiration_ms
        """How long the logs that are opened from now on remember an idle producer."""
        self._lock = lock
        self._logs: dict[PartitionName, Log] = {}
        previous_epoch = metadata_files.take_clean_mark(files, directory)
        self.was_clean = previous_epoch is not None
        self.broker_epoch = -1 if previous_epoch is None else previous_epoch
        """The epoch of this broker's registration; until it registers, the epoch of its last clean stop."""
        self._volume = None if self.was_clean else files.open_volume(directory)
        """Opened before the first log: it must report all failures from here on."""
        if self._volume is not None:
            lock.callback(self._volume.close)
        self._listed_epoch = metadata_files.read_unregistered_start(files, directory)
        """The epoch of the last clean stop, until the losses since then are registered."""
        self._inventory = SegmentInventory(files, directory, self._listed_epoch, was_clean=self.was_clean)
        self._is_recovered = False
        self._directories = LogDirectories(files, directory, offload)
        self._unopened = set(self._directories.find_logs())
        if self._unopened and not self.was_clean:
            files.sync_dir(directory)  # a kill may have left the names of new logs in memory only
        self._offsets = OffsetCheckpoints(files, directory, self._unopened)
        self._damage = DamageCheckpoint(files, directory, self._unopened)
        wait_for_direct_writes(files, list_files(files, directory))
        found = read_journal(files, directory, directory_id=self.directory_id, headers_only=self.was_clean)
        self.journal_damage = tuple(found.damage)
        self._knows_suspects = bool(found.files) and not found.damage
        self.journal = open_journal(
            files,
            directory,
            offload,
            found,
            size_bytes=journal_bytes,
            new_nonce=new_nonce,
            directory_id=self.directory_id,
            ring=ring,
        )
        self._checkpointer = Checkpointer(self._logs, self._directories, offload, self._offsets, self._damage)
        self._opener = LogOpener(
            self._cache,
            self._directories,
            self._checkpointer,
            self._offsets,
            self._damage,
            journal=self.journal,
            is_journal_damaged=bool(found.damage),
            was_clean=self.was_clean,
            producer_expiration_ms=lambda: self.producer_expiration_ms,
            clock=clock,
            offload=offload,
        )
        self.passes = CleanerPasses()
        """The passes of the cleaner over the logs here."""

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
        was_used_by_kafka: bool = False,
    ) -> "LogStore":
        """Lock the directory, which is created if it does not exist. `offload` is for reads and removals.

        `was_used_by_kafka`: Apache Kafka has changed the logs since this broker had them.

        Raises `DirectoryInUse` when another process has it, `DirectoryMismatch` when it is another broker's.
        """
        _check_owner(
            metadata_files.read_meta(files, directory), directory, node_id
        )  # before anything changes
        _make_durably(files, directory)
        with contextlib.ExitStack() as on_failure:
            lock = on_failure.enter_context(contextlib.ExitStack())
            try:
                lock.enter_context(files.lock(f"{directory}/{metadata_files.LOCK}"))
            except BlockingIOError as error:
                raise DirectoryInUse(
                    f"another process is using {directory}: stop it, or give this broker another data directory"
                ) from error
            meta = metadata_files.read_meta(files, directory)
            if meta is None:
                _require_no_logs(files, directory)
                meta = Meta(cluster_id=new_cluster_id(), node_id=node_id, directory_id=new_directory_id())
                metadata_files.write_meta(files, directory, meta)
            else:
                _check_owner(meta, directory, node_id)
            metadata_files.restrict_access(files, directory)
            if was_used_by_kafka:  # a start of ours that crashed before that must not be continued
                metadata_files.forget_unregistered_start(files, directory)
            store = cls(
                directory,
                meta,
                files,
                clock=clock or SystemClock(),
                offload=offload or InlineOffload(),
                open_files_max=open_files_max,
                producer_expiration_ms=producer_expiration_ms,
                lock=lock,
                journal_bytes=journal_bytes,
                new_nonce=new_directory_id,
                ring=ring,
            )
            on_failure.pop_all()
            return store

    def __iter__(self) -> Iterator[Log]:
        """The logs that are open."""
        return iter(self._logs.values())

    @property
    def partitions(self) -> set[PartitionName]:
        """All partitions that have a log here, open or not."""
        return self._unopened | self._logs.keys()

    @property
    def has_lost_records(self) -> bool:
        """Whether records of a log that was opened were durable, and are gone."""
        return self._opener.has_lost_records

    @property
    def damage(self) -> Damages:
        """All known damage, by partition, in open and closed logs."""
        return self._damage.known

    def topic_id(self, topic: str, partition: int) -> bytes | None:
        """The id of the topic that a log here belongs to, if its directory names one."""
        return self._directories.read_topic_id(PartitionName(topic, partition))

    def high_watermark(self, topic: str, partition: int) -> int | None:
        """The high watermark that `save_high_watermarks` last wrote for this partition."""
        return self._offsets.high_watermarks.get(PartitionName(topic, partition))

    # -- opening and deleting -------------------------------------------------------------------------

    def get(self, topic: str, partition: int) -> Log | None:
        """The log of this partition, if it is open."""
        return self._logs.get(PartitionName(topic, partition))

    def open_or_create(self, topic: str, topic_id: bytes, partition: int, config: TopicConfig) -> Log:
        """The log of this partition: the open one, the one on disk, or a new one. Waits for the disk.

        A directory left over from another topic of the same name is renamed as stray.
        """
        name = PartitionName(topic, partition)
        log = self._logs.get(name)
        if log is not None:
            return log
        expected = self._inventory.take(name)
        if expected is not None:
            self._offsets.without_log.pop(name, None)
        is_there = name in self._unopened and self._opener.belongs_to(name, topic_id, expected)
        if expected is not None and expected.topic_id != metadata_files.encode_uuid(topic_id):
            expected = None
        if not is_there and (
            self._opener.pieces_of(topic_id, partition) or (expected and expected.end_offset > 0)
        ):
            self._directories.make(name, topic_id)  # to record its losses
            is_there = True
        if is_there:
            log = self._opener.open(name, topic_id, config, expected)
        else:
            log = self._opener.create(name, topic_id, config)
        self._unopened.discard(name)
        self._logs[name] = log
        return log

    @property
    def suspects(self) -> set[PartitionId] | None:
        """The partitions that may have lost records in a crash, by the journal; None if that is not known."""
        return None if self.journal is None or not self._knows_suspects else set(self.journal.unrecovered)

    async def sync_opened(self) -> None:
        """Make all open logs durable, with one sync of the file system, if it supports that: see `VolumeSync`."""
        if self._volume is not None:
            await VolumeSync(self._volume, self.directory, self._logs, self.journal, self._offload).run()

    async def recovered(self, failed: Collection[PartitionId] = ()) -> None:
        """All partitions that may have lost something are open and synced, except for those that have failed. Other
        partitions in the journal are no longer on this broker.

        If `has_lost_records`, the broker has registered that: a crash would find no evidence from here on.
        """
        self._is_recovered = True
        if self._listed_epoch is not None and self._inventory.is_compared:
            self._forget_clean_stop()
        if self.journal is not None:
            await self.journal.end_recovery(failed)

    def _forget_clean_stop(self) -> None:
        """Durably: logs change from here on, and a later start must not compare them with the inventory."""
        try:
            metadata_files.remove_unregistered_start(self._files, self.directory)
        except OSError as error:
            raise StorageError(
                f"cannot remove {self.directory}/{metadata_files.UNREGISTERED_START}: {error.strerror}. Check the "
                "disk, then start the broker again",
                error,
            ) from error
        self._listed_epoch = None

    async def find_changed(self) -> set[PartitionName]:
        """The partitions whose logs were not opened yet and have changed since the last stop."""
        return {*await self._inventory.changed(self._offload), *self._offsets.without_log}

    def end_comparison(self) -> None:
        """All expected logs have been opened or compared: from now on a log without a directory is new."""
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
            self._directories.path(name),
            log_start_offset=self._offsets.log_starts.get(name, 0),
            end_offset=end_offset,
            offload=self._offload,
        )
        return await check.finds_damage(lambda: name in self._unopened, rest)

    def delete(self, topic: str, topic_id: bytes, partition: int) -> None:
        """Take the log of this partition out of the directory; its files are removed in the background."""
        name = PartitionName(topic, partition)
        self._inventory.take(name)  # it may come back to this broker
        log = self._logs.pop(name, None)
        if self.journal is not None:
            self.journal.forget(PartitionId(topic_id, partition), log)  # even if there is no directory
        if log is None and name not in self._unopened:
            return
        if log is not None:
            log.abandon("its topic was deleted")
            self._checkpointer.forget(log)
        self._unopened.discard(name)
        self._offsets.forget(name)
        self._damage.forget(name)
        try:
            self._directories.delete(name)
        except OSError:
            self._unopened.add(name)  # a new topic of this name must not get the old topic's files
            raise

    async def drop(self, topic: str, topic_id: bytes, partition: int) -> None:
        """Delete the log of a partition that continues on other brokers. It may come back here, and then starts afresh:
        so this returns only when the journal holds nothing of it any more.
        """
        self.delete(topic, topic_id, partition)
        if self.journal is not None and not await self.journal.written():
            raise StorageError(
                f"the journal in {self.directory} cannot be written: {topic}-{partition} may come back after a crash"
            )

    def rename_as_stray(self, name: PartitionName) -> None:
        """Move a log that belongs to no topic here out of the way: its topic was deleted just before a crash, say."""
        self._inventory.take(name)
        self._opener.rename_as_stray(name, "belongs to no topic that this broker has")
        self._unopened.discard(name)

    # -- checkpoints ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def deferred_syncs(self) -> Iterator[None]:
        """Logs opened in this block may have records that are not durable yet, for a single sync of all logs."""
        with self._opener.deferred_syncs():
            yield

    async def checkpoint(self) -> None:
        """Let recovery start at the current end of every log. The broker calls it once a minute or so."""
        await self._checkpointer.checkpoint(self._logs.values())

    async def secure(self, log: Log) -> int:
        """See `Checkpointer.secure`."""
        return await self._checkpointer.secure(log)

    async def save_offsets(self) -> bool:
        """See `Checkpointer.save_offsets`."""
        return await self._checkpointer.save_offsets()

    async def save_high_watermarks(self, high_watermarks: Mapping[PartitionName, int]) -> None:
        """See `Checkpointer.save_high_watermarks`."""
        await self._checkpointer.save_high_watermarks(high_watermarks)

    async def allow_truncation(self, log: Log, offset: int) -> None:
        """Lower the durable offsets on disk, so that the log may drop its records from `offset` on, or continue there.

        Records appended in their place later must not be treated as checked. The caller truncates as soon as this
        returns, and first checks again whether it still may. Raises `LogError` or `OSError`.

        A pass of the cleaner over the log ends first: while the names of its swap are durable, a power cut completes
        the swap, over records written after the truncation.
        """
        async with self.passes.paused(log.topic, log.partition):
            await self._checkpointer.lower_durable_offsets(log, offset, self.journal)

    def release_idle(self) -> None:
        """Close the files and drop the indexes of logs not used since the call before the last."""
        for log in self._logs.values():
            log.idle_sweeps += 1
            if log.idle_sweeps == _IDLE_SWEEPS_TO_RELEASE:
                log.release()

    async def measure(self, names: Iterable[PartitionName]) -> DirectoryUsage:
        """The free space of the directory and the sizes of these logs, open or not. Raises `OSError`."""
        wanted = set(names)
        unopened = wanted & self._unopened
        usage = await self._offload.run(partial(measure, self._files, self.directory, unopened))
        for name in wanted & self._logs.keys():
            usage.size_bytes[name] = self._logs[name].size_bytes
        return usage

    # -- the end --------------------------------------------------------------------------------------

    async def close(self, flusher: Flusher | None = None) -> None:
        """Close every log so that the next start need not recover, and release the directory."""
        if flusher is not None:
            await flusher.drain()
        logs = list(self._logs.values())
        await self._checkpointer.close_logs(logs)
        is_clean = False
        try:
            is_clean = await self._leave_clean(logs)
        except OSError as error:
            _log.warning(
                "Cannot mark %s as cleanly stopped (%s): the next start recovers the logs",
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
        """Save the state for the next start and write the clean-shutdown mark, if all that it vouches for is there."""
        saved = [log.recovery_point for log in logs]
        await self.save_offsets()
        if self._must_recover_again():
            return False
        await self._offload.run(self._write_inventory)  # valid only with the mark that follows it
        # Nothing should be appended while that is written. If it was, the next start must recover the log.
        is_clean = all(
            log.failure is None and log.log_end_offset == point and log.producers.unverified_from is None
            for log, point in zip(logs, saved, strict=True)
        )
        if is_clean:
            metadata_files.leave_clean_mark(self._files, self.directory, self.broker_epoch)
            if self._listed_epoch is not None:  # the new inventory has all entries of the old one
                metadata_files.remove_unregistered_start(self._files, self.directory)
        return is_clean

    def _must_recover_again(self) -> bool:
        """Whether the next start needs the recovery that only a start after a crash does."""
        is_unopened = bool(self._unopened) and not self.was_clean
        is_in_journal = self.journal is not None and bool(self.journal.unrecovered)
        is_unregistered = bool(self.journal_damage) and not self._is_recovered
        return is_unopened or is_in_journal or is_unregistered

    def _write_inventory(self) -> None:
        opened = [
            LogInventory(
                name.topic,
                name.partition,
                metadata_files.encode_uuid(log.partition_id.topic_id),
                log.log_start_offset,
                log.log_end_offset,
                tuple((segment.base_offset, segment.size_bytes) for segment in log.segments),
                tuple(each.damage for each in log.losses if each.damage in log.damaged),
                index_checksums(
                    self._files,
                    self._directories.path(name),
                    (segment.base_offset for segment in log.segments),
                ),
            )
            for name, log in self._logs.items()
        ]
        self._inventory.write(self.broker_epoch, opened, self._unopened)


def _check_owner(meta: Meta | None, directory: str, node_id: int) -> None:
    """Raise `DirectoryMismatch` for the directory of another node."""
    if meta is not None and meta.node_id != node_id:
        raise DirectoryMismatch(
            f"{directory} belongs to node {meta.node_id}, and this is node {node_id}: set node.id to "
            f"{meta.node_id}, or give another data directory"
        )


def _require_no_logs(files: FileSystem, directory: str) -> None:
    """A new `meta.properties` would give existing logs another identity. Raises `DirectoryMismatch`."""
    logs = [name for name in files.list(directory) if PartitionName.parse(name) is not None]
    if logs:
        raise DirectoryMismatch(
            f"{directory}/{metadata_files.META} is missing, but {len(logs)} partitions are there ({logs[0]}, …): "
            "restore it from a backup, or move the partitions away to start with an empty directory"
        )


def _make_durably(files: FileSystem, directory: str) -> None:
    """Create a directory whose name survives a power cut, along with everything synced below it."""
    missing = []
    path = directory
    while path and not files.exists(path):
        missing.append(path)
        path = os.path.dirname(path)
    files.make_dirs(directory)
    for made in missing:
        files.sync_dir(os.path.dirname(made) or ".")
