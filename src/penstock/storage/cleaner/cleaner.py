"""The cleaner: compacts the logs that need it most, and deletes segments past their retention.

Compaction picks the log with the greatest dirty ratio, compacts it and looks again at once; with nothing to do it waits
`log.cleaner.backoff.ms`. `log.cleaner.threads` logs are compacted concurrently. The offset at which each log's next
pass begins is kept in `cleaner-offset-checkpoint` (format: `checkpoints`). The retention sweep visits all logs every
`log.retention.check.interval.ms`. A log is compacted up to the first known damage. A log whose pass finds damage or
fails otherwise is excluded from then on, and this is logged; after a full disk it is retried. A failure of one log does
not stop the others.

A log is truncated or deleted inside `CleanerPasses.paused`: a running pass is aborted first. How far a log is compacted
is kept in the `Log` itself: its name alone may later refer to another log.
"""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from penstock.runtime.clock import Clock
from penstock.runtime.offload import Offload
from penstock.storage.cleaner.cleaning import LogChanged, PassInPlace, job_for
from penstock.storage.cleaner.facts import CleanedPartition, compaction_facts, retention_facts
from penstock.storage.cleaner.passes import CleanerPasses
from penstock.storage.compaction.choice import Cleanable, assess
from penstock.storage.compaction.rewrite import CompactionResult
from penstock.storage.compaction.worker import Compactor
from penstock.storage.directory.checkpoints import (
    CLEANED,
    CorruptCheckpointFile,
    PartitionName,
    read_offsets,
    write_offsets,
)
from penstock.storage.errors import LogError
from penstock.storage.files import FileSystem
from penstock.storage.log.log import Log
from penstock.storage.retention import LogFacts, count_to_delete

CHECKPOINT: Final = CLEANED
_WAITED_FOR: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
)

_log = logging.getLogger(__name__)


class CleanerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Kafka's names: `log.cleaner.*`, and `log.retention.check.interval.ms`."""

    enable: bool = True
    threads: int = 1
    backoff_ms: int = 15_000
    dedupe_buffer_bytes: int = 134_217_728
    """Shared by all passes."""
    retention_check_interval_ms: int = 300_000


class Cleaner:
    """Only the event loop calls it. Start `run` as a task and cancel it to stop."""

    def __init__(
        self,
        directory: str,
        partitions: Callable[[], Iterable[CleanedPartition]],
        secure: Callable[[Log], Awaitable[int]],
        *,
        files: FileSystem,
        clock: Clock,
        offload: Offload,
        compactor: Compactor,
        passes: CleanerPasses,
        settings: Callable[[], CleanerSettings] = CleanerSettings,
    ) -> None:
        """`secure` moves a log's recovery point to its end and returns the recovery point that is then durable:
        recovery would treat the gaps that compaction leaves above it as losses.

        `settings` returns the current settings; they may change at any time.
        """
        self._checkpoint_path = f"{directory}/{CHECKPOINT}"
        self._partitions = partitions
        self._secure = secure
        self._files = files
        self._clock = clock
        self._offload = offload
        self._compactor = compactor
        self._settings = settings
        self._clean_offsets = self._read_checkpoint()
        """The offsets for the checkpoint file, including the offsets of logs that are not open yet."""
        self._written = dict(self._clean_offsets)
        self._passes = passes
        self._failed: set[PartitionName] = set()
        self._writing = asyncio.Lock()
        self._present: dict[PartitionName, Log] = {}
        self.uncleanable: dict[PartitionName, str] = {}
        """Partitions excluded from compaction, and why."""

    async def run(self) -> None:
        """Clean until cancelled."""
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._sweep_forever())
            if self._settings().enable:
                loops.create_task(self._compact_forever())

    def clean_offset(self, topic: str, partition: int) -> int | None:
        """The offset at which the next pass over a log begins, if there was one."""
        return self._clean_offsets.get(PartitionName(topic, partition))

    # -- retention ------------------------------------------------------------------------------------

    async def _sweep_forever(self) -> None:
        while True:
            await self._clock.sleep(self._settings().retention_check_interval_ms)
            await self.sweep()

    async def sweep(self) -> int:
        """Delete the segments past their retention. Returns the number of deleted segments."""
        count = 0
        for partition in list(self._partitions()):
            try:
                log = partition.log
            except (LogError, OSError):  # the next request for the partition gets the error
                continue
            name = _name_of(log)
            if self._passes.is_busy(name) or log.failure is not None:
                continue
            try:
                count += await self._sweep_log(partition)
            except Exception:  # noqa: BLE001 - one bad log must not stop the others
                _log.exception("Cannot apply the retention of %s-%d, retrying", *name)
            await asyncio.sleep(0)
        return count

    async def _sweep_log(self, partition: CleanedPartition) -> int:
        log, now_ms = partition.log, self._clock.now_ms()
        count = count_to_delete(retention_facts(partition, now_ms), log.config, now_ms)
        if count:
            start_offset = log.log_start_offset
            log.delete_oldest(count, now_ms=now_ms)
            if log.log_start_offset > start_offset:  # otherwise removal is pending since an earlier sweep
                _log.info(
                    "Deleted expired segments of %s-%d. segments=%d log_start_offset=%d",
                    log.topic,
                    log.partition,
                    count,
                    log.log_start_offset,
                )
            # The directory's names, not only the start offset, show which segments are gone.
            await self._offload.run(lambda: self._files.sync_dir(log.directory))
        return count

    # -- compaction -----------------------------------------------------------------------------------

    async def _compact_forever(self) -> None:
        count = 0
        async with asyncio.TaskGroup() as loops:
            while True:
                while count < self._settings().threads:
                    loops.create_task(self._compact_as(count))
                    count += 1
                await self._clock.sleep(self._settings().backoff_ms)

    async def _compact_as(self, number: int) -> None:
        """One of `log.cleaner.threads` workers; it idles when the setting is lowered."""
        while True:
            if number >= self._settings().threads or not await self.compact_dirtiest():
                await self._clock.sleep(self._settings().backoff_ms)

    async def compact_dirtiest(self) -> bool:
        """Make one pass over the log that needs it most. Returns True if there was such a log.

        Logs that have not been used since the start are considered after the first sweep, which opens them.
        A log whose pass fails is not chosen again until all other logs that need a pass have had one.
        """
        chosen = self._choose()
        if chosen is None:
            self._failed.clear()
            if self._clean_offsets != self._written:
                await self._write_checkpoint()
            return False
        partition, facts, cleanable = chosen
        name, generation = _name_of(partition.log), partition.log.generation
        task = asyncio.ensure_future(self._pass(partition, facts, cleanable, generation))
        self._passes.running[name] = task
        try:
            await asyncio.wait([task])
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            del self._passes.running[name]
        if not await self._complete_pass(partition, cleanable, generation, task):
            self._failed.add(name)
        return True

    def _choose(self) -> tuple[CleanedPartition, LogFacts, Cleanable] | None:
        now_ms = self._clock.now_ms()
        best: tuple[CleanedPartition, LogFacts, Cleanable] | None = None
        present: dict[PartitionName, Log] = {}
        for partition in self._partitions():
            if not partition.is_open:
                continue
            log, name = partition.log, _name_of(partition.log)
            present[name] = log
            if "compact" not in log.config.cleanup_policy or log.failure is not None:
                continue
            if name in self.uncleanable or name in self._failed or self._passes.is_busy(name):
                continue
            try:
                facts = compaction_facts(partition)
            except Exception as error:  # noqa: BLE001 - one bad log must not stop the others
                self._give_up(name, error)
                continue
            cleanable = assess(facts, log.config, self._clean_offset_of(log), now_ms)
            if cleanable.is_due(log.config) and (best is None or cleanable.dirty_ratio > best[2].dirty_ratio):
                best = (partition, facts, cleanable)
        for name, log in self._present.items():
            if name not in present:
                self._clean_offsets.pop(name, None)
            if present.get(name) is not log:  # deleted: a later topic of this name starts afresh
                self.uncleanable.pop(name, None)
        self._present = present
        return best

    def _clean_offset_of(self, log: Log) -> int:
        if log.clean_offset is None:
            log.clean_offset = self._clean_offsets.get(_name_of(log), 0)
        self._note_clean_offset(log, log.clean_offset)
        return log.clean_offset

    def _note_clean_offset(self, log: Log, offset: int) -> None:
        log.clean_offset = offset
        if offset > 0:
            self._clean_offsets[_name_of(log)] = offset
        else:
            self._clean_offsets.pop(_name_of(log), None)

    async def _pass(
        self, partition: CleanedPartition, facts: LogFacts, cleanable: Cleanable, generation: int
    ) -> CompactionResult:
        log, now_ms, settings = partition.log, self._clock.now_ms(), self._settings()
        recovery_point = await self._secure(log)
        if recovery_point < cleanable.first_uncleanable_offset:
            bounded = msgspec.structs.replace(facts, last_stable_offset=recovery_point)
            cleanable = assess(bounded, log.config, self._clean_offset_of(log), now_ms)
            if cleanable.dirty_bytes == 0:
                raise LogChanged(f"the recovery point of {log.directory} could not be moved")
        job = job_for(
            partition,
            cleanable,
            now_ms=now_ms,
            dedupe_buffer_bytes=settings.dedupe_buffer_bytes // max(1, settings.threads),
        )
        place = PassInPlace(self._offload, log, job, generation)
        try:
            result = await self._compactor.run(job)
        except BaseException:
            place.discard_all()
            raise
        for number, cleaned in enumerate(result.cleaned):
            try:
                await place.put(cleaned)
            except BaseException:
                for rest in result.cleaned[number + 1 :]:
                    place.discard(rest)
                raise
        return result

    async def _complete_pass(
        self,
        partition: CleanedPartition,
        cleanable: Cleanable,
        generation: int,
        task: "asyncio.Task[CompactionResult]",
    ) -> bool:
        """Process the end of a pass. Returns True if the pass succeeded."""
        log, name = partition.log, _name_of(partition.log)
        if task.cancelled():
            return False
        error = task.exception()
        if error is None:
            result = task.result()
            self._report(log, cleanable, result)
            if log.generation == generation:  # otherwise it was truncated or deleted since the pass ended
                self._note_clean_offset(log, result.end_offset)
            await self._write_checkpoint()
            return True
        if isinstance(error, LogChanged) or all(
            not p.is_open or p.log is not log for p in self._partitions()
        ):
            _log.info("Aborted compaction of %s-%d: the log changed: %s", *name, error)
        elif isinstance(error, OSError) and error.errno in _WAITED_FOR:
            _log.warning("Cannot compact %s-%d, retrying: %s", *name, error)
        elif isinstance(error, Exception):
            self._give_up(name, error)
        else:
            raise error
        return False

    def _give_up(self, name: PartitionName, error: Exception) -> None:
        self.uncleanable[name] = str(error)
        _log.error("Disabled compaction of %s-%d until restart: %s", *name, error, exc_info=error)

    def _report(self, log: Log, cleanable: Cleanable, result: CompactionResult) -> None:
        _log.info(
            "Compacted %s-%d. from_offset=%d to_offset=%d records_kept=%d records_read=%d",
            log.topic,
            log.partition,
            cleanable.first_dirty_offset,
            result.end_offset,
            result.records_kept,
            result.records_read,
        )
        if result.keyless_count:
            _log.warning(
                "Deleted records without a key from %s-%d: a compacted topic cannot keep them. records=%d",
                log.topic,
                log.partition,
                result.keyless_count,
            )

    # -- the checkpoint -------------------------------------------------------------------------------

    def _read_checkpoint(self) -> dict[PartitionName, int]:
        """Without the checkpoint only the first pass over each log takes longer."""
        try:
            return read_offsets(self._files, self._checkpoint_path) or {}
        except (CorruptCheckpointFile, OSError) as error:
            _log.warning(
                "Ignored %s (%s): the first compaction of each partition reads its whole log",
                self._checkpoint_path,
                error,
            )
            return {}

    async def _write_checkpoint(self) -> None:
        async with self._writing:
            offsets = dict(self._clean_offsets)
            try:
                await self._offload.run(lambda: write_offsets(self._files, self._checkpoint_path, offsets))
                self._written = offsets
            except OSError as error:
                _log.warning("Cannot write %s: %s", self._checkpoint_path, error.strerror)


def _name_of(log: Log) -> PartitionName:
    return PartitionName(log.topic, log.partition)
