"""Checkpoints of the logs of a data directory: recovery points, log starts, high watermarks and known damage.

They keep recovery short. Only the event loop calls it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping

from penstock.runtime.offload import Offload
from penstock.storage.damage.checkpoint import DamageCheckpoint
from penstock.storage.directory.checkpoints import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, PartitionName
from penstock.storage.directory.offset_checkpoints import OffsetCheckpoints
from penstock.storage.errors import StorageError
from penstock.storage.journal.journal import Journal
from penstock.storage.log.checkpoint import LogCheckpoint
from penstock.storage.log.log import Log
from penstock.storage.store.log_directories import LogDirectories
from penstock.storage.sync import CheckpointJob, sync_segments

_CHECKPOINTS_AT_ONCE = 2
_CLOSES_AT_ONCE = 4

_log = logging.getLogger(__name__)


class Checkpointer:
    """Observes the logs that are open, and writes their checkpoints."""

    def __init__(
        self,
        logs: Mapping[PartitionName, Log],
        directories: LogDirectories,
        offload: Offload,
        offsets: OffsetCheckpoints,
        damage: DamageCheckpoint,
    ) -> None:
        self._logs = logs
        self._directories = directories
        self._offload = offload
        self._offsets = offsets
        self._damage = damage
        self._due: dict[Log, None] = {}  # in order of arrival, so that a simulation is reproducible
        self._tasks: set[asyncio.Task[None]] = set()
        self._saving = asyncio.Lock()
        self._checkpointing = asyncio.Lock()
        """Two checkpoints of one log at once would share a temporary file."""
        self._unfinished: set[asyncio.Future[None]] = set()
        """Checkpoints that have begun: they end, even if their caller is cancelled."""

    def on_checkpoint_due(self, log: Log) -> None:
        """A log has changes to save. Without a loop they wait for the next checkpoint or the close."""
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
            await self.checkpoint(due)

    async def checkpoint(self, logs: Iterable[Log]) -> None:
        """A few at a time: the syncs of a log wait for a checkpoint that has begun, even if it is only queued."""
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
                "Cannot begin the checkpoint of %s (%s): recovery takes longer",
                log.directory,
                error.strerror,
            )
            return
        if job is not None:
            await self._run_and_finish(log, job)

    async def _run_and_finish(self, log: Log, job: CheckpointJob) -> None:
        """Begin at once, and complete even if the caller is cancelled: the log's next sync waits for this one."""
        running = self._offload.start(job.run_noting_failure)
        finishing = asyncio.ensure_future(self._finish(log, job, running))
        self._unfinished.add(finishing)
        finishing.add_done_callback(self._unfinished.discard)
        await asyncio.shield(finishing)

    async def _finish(self, log: Log, job: CheckpointJob, running: "asyncio.Future[None]") -> None:
        await running
        LogCheckpoint(log).finish(job, job.failure)

    async def secure(self, log: Log) -> int:
        """Move the recovery point of one log to its end. Returns the recovery point that is then on disk.

        Compaction calls this: recovery treats the gaps that compaction leaves as losses, so it must not look there.
        """
        async with self._checkpointing:
            await self._checkpoint_one(log)
        recovery_point = log.recovery_point
        return recovery_point if await self.save_offsets() else 0

    async def save_offsets(self) -> bool:
        """Save recovery points and log starts. Returns True if they are on disk."""
        async with self._saving:  # after waiting for another save, the other save's offsets are on disk
            offsets = self._offsets
            held_back = await self._sync_around_starts()
            for name, log in self._logs.items():
                if log.failure is None:
                    offsets.recovery_points[name] = log.recovery_point
                # Even at the start of a segment: the deletion of earlier segments may not be durable yet.
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
                _log.warning("Cannot write the checkpoints of %s: %s", self._directories.root, error.strerror)
                return False
            if not self._damage.is_saved:
                await self._offload.run(self._damage.prepare(self._is_unsynced))
            return all(log.failure is not None for log in held_back)

    async def _sync_around_starts(self) -> set[Log]:
        """Sync the logs that start after their segments' durable end. Returns the logs that could not be synced.

        A start within a batch that only the journal has would let a recovery drop that batch.
        """
        early = [log for log in self._logs.values() if log.failure is None and _starts_unsynced(log)]
        await sync_segments(early, self._offload)
        return {log for log in self._logs.values() if _starts_unsynced(log)}

    async def lower_durable_offsets(self, log: Log, offset: int, journal: Journal | None) -> None:
        """Lower saved offsets and clear the journal, so that nothing vouches for records from `offset` on."""
        name = PartitionName(log.topic, log.partition)
        if journal is not None:
            await journal.release_log(log)
        while self._is_durable_above(log, name, offset):  # also by offsets saved while this waits
            if log.failure is not None:  # closed, say: the name may refer to another log now
                raise log.failure.with_traceback(None)
            log.lower_recovery_point(offset)
            if offset < self._offsets.highest(HIGH_WATERMARKS, name):  # after an unclean election
                # Not the offset itself: the batch that contains it is dropped as a whole.
                await self.save_high_watermarks({name: log.recovery_point})
            if not await self.save_offsets():
                raise StorageError(f"{log.directory} is not truncated: its recovery point cannot be written")
            if journal is not None:
                await journal.release_log(log)

    def _is_durable_above(self, log: Log, name: PartitionName, offset: int) -> bool:
        """Whether a recovery would miss records from `offset` on, by the offsets that are saved or being saved."""
        saved = [self._offsets.highest(each, name) for each in (RECOVERY_POINTS, HIGH_WATERMARKS)]
        return offset < max(log.recovery_point, *saved)

    async def save_high_watermarks(self, high_watermarks: Mapping[PartitionName, int]) -> None:
        """Save the high watermarks: a follower that becomes leader has no other source for them."""
        self._offsets.high_watermarks.update(high_watermarks)
        await self._offload.run(self._offsets.prepare(HIGH_WATERMARKS, self._offsets.high_watermarks))

    def on_damage_change(self, log: Log) -> None:
        """New damage is saved at once, repaired damage is removed with the next checkpoint."""
        if self._damage.note(PartitionName(log.topic, log.partition), log.damaged):
            self._directories.run_in_background(self._damage.prepare(self._is_unsynced))

    def save_damage(self) -> None:
        """Save the known damage. Waits for the disk."""
        self._damage.prepare(self._is_unsynced)()

    def _is_unsynced(self, name: PartitionName) -> bool:
        log = self._logs.get(name)
        return log is not None and log.has_unsynced

    def forget(self, log: Log) -> None:
        self._due.pop(log, None)

    async def close_logs(self, logs: Iterable[Log]) -> None:
        """Write the last checkpoint of each log, after those that have begun."""
        self._due.clear()
        if running := self._tasks | self._unfinished:
            await asyncio.wait(running)
        waiting = iter(logs)
        await asyncio.gather(*(self._close_each(waiting) for _ in range(_CLOSES_AT_ONCE)))

    async def _close_each(self, logs: Iterator[Log]) -> None:
        """A few at a time: each holds its files open meanwhile."""
        for log in logs:
            job = LogCheckpoint(log).begin_close()
            if job is not None:
                await self._run_and_finish(log, job)


def _starts_unsynced(log: Log) -> bool:
    return log.log_start_offset > log.segments_durable_offset
