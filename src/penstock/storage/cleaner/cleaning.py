"""One compaction pass over one log, as seen by the event loop: create the job, then swap in the result.

A worker does the work between (`compaction.worker`). The log stays in use meanwhile: records are appended, and it may
be truncated or deleted. The segments that the pass read must still be there, unchanged, before anything is replaced.
"""

import contextlib
import logging
from functools import partial

from penstock.runtime.offload import Offload
from penstock.storage.cleaner.facts import CleanedPartition, with_index_sizes
from penstock.storage.compaction import swap
from penstock.storage.compaction.choice import Cleanable
from penstock.storage.compaction.filter import LastRecord
from penstock.storage.compaction.rewrite import CleanedSegment, CompactionJob
from penstock.storage.errors import LogClosed, LogError, StorageFailure
from penstock.storage.files import FileSystem
from penstock.storage.log.log import Log
from penstock.storage.segment.transaction_index import AbortedTransaction

_log = logging.getLogger(__name__)


class LogChanged(LogError):
    """The log was truncated, deleted or closed during the pass: its result is useless."""


def job_for(
    partition: CleanedPartition,
    cleanable: Cleanable,
    *,
    now_ms: int,
    dedupe_buffer_bytes: int,
) -> CompactionJob:
    log = partition.log
    config = log.config
    end_offset = cleanable.first_uncleanable_offset
    sealed = [segment for segment in log.segments if segment.base_offset < end_offset]
    return CompactionJob(
        directory=log.directory,
        segments=tuple(with_index_sizes(log.files, segment) for segment in sealed),
        first_dirty_offset=cleanable.first_dirty_offset,
        first_uncleanable_offset=end_offset,
        now_ms=now_ms,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes_max=config.segment_bytes,
        index_bytes_max=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        dedupe_buffer_bytes=dedupe_buffer_bytes,
        aborted=tuple(_aborted_outside(log, end_offset)),
        last_records={
            entry.producer_id: LastRecord(entry.last_offset, entry.producer_epoch) for entry in log.producers
        },
    )


def _aborted_outside(log: Log, end_offset: int) -> list[AbortedTransaction]:
    """Aborted transactions with records below `end_offset` that are in no index file of a segment below it."""
    found = []
    for segment in log.segments:
        indexes = segment.indexes_in_memory
        if indexes is None and segment.base_offset >= end_offset:
            indexes = segment.indexes()
        if indexes is not None:
            found += indexes.transactions.overlapping(0, end_offset)[0]
    return found


class PassInPlace:
    """Replaces old segments with the compacted segments of one pass."""

    def __init__(self, offload: Offload, log: Log, job: CompactionJob, generation: int) -> None:
        """`generation` is the log's generation when the job was chosen."""
        self._files = log.files
        self._offload = offload
        self._log = log
        self._generation = generation
        self._sizes = {segment.base_offset: segment.size_bytes for segment in job.segments}
        self._sources = {s.base_offset: s for s in log.segments if s.base_offset in self._sizes}

    def discard(self, cleaned: CleanedSegment) -> None:
        """Discard a compacted segment that is not swapped in."""
        with contextlib.suppress(
            LogClosed
        ):  # then it goes with the log's directory, or when the log is opened
            swap.discard(self._files, self._log.directory, cleaned.base_offset)

    def discard_all(self) -> None:
        """Discard the leftovers of a worker that failed: a `.cleaned` file would invalidate later swaps."""
        with contextlib.suppress(LogClosed):
            for base_offset in self._sizes:
                swap.discard(self._files, self._log.directory, base_offset)

    async def put(self, cleaned: CleanedSegment) -> None:
        """Raises `LogChanged`, and leaves no files, if the log has changed since it was compacted.

        Between the syncs nothing is awaited: readers see the old segments or the new one.
        """
        log, files, base_offset = self._log, self._files, cleaned.base_offset
        try:
            self._check_unchanged(cleaned)
            swap.mark(files, log.directory, base_offset)
            await self._sync_directory()
            self._check_unchanged(cleaned)
        except BaseException:
            await self._undo_put(cleaned)
            raise
        try:
            deleted = swap.replace_old(files, log.directory, base_offset, cleaned.replaces)
            swap.finish(files, log.directory, base_offset)
        except OSError as error:
            log.fail(
                StorageFailure(
                    f"a compacted segment of {log.directory} is only half in place ({error.strerror}): check the "
                    "disk, then restart the broker, which completes it"
                )
            )
            raise
        log.replace_segments(base_offset, cleaned.size_bytes, cleaned.replaces)
        await self._sync_directory()
        # Only now: a power cut before the sync would bring the old names back, and must find the files there.
        await self._offload.run(partial(_remove, files, deleted))

    async def _undo_put(self, cleaned: CleanedSegment) -> None:
        """Discard a compacted segment whose `.swap` names may be durable: a power cut must not bring them back.

        The swap would then be completed, over records written to the log since.
        """
        self.discard(cleaned)
        if self._log.is_closed:
            return
        try:
            await self._sync_directory()
        except OSError:
            self._log.chain.names_unsynced = (
                True  # the next sync of the log includes the directory, or fails it
            )

    def _check_unchanged(self, cleaned: CleanedSegment) -> None:
        if self._log.failure is not None:
            raise LogChanged(f"{self._log.directory} has failed since its compaction began")
        if self._log.generation != self._generation:
            raise LogChanged(f"{self._log.directory} was truncated since its compaction began")
        present = {segment.base_offset: segment for segment in self._log.segments[:-1]}
        for offset in cleaned.replaces:
            segment = present.get(offset)
            if segment is None or segment is not self._sources[offset]:
                raise LogChanged(
                    f"segment {offset} of {self._log.directory} is gone since its compaction began"
                )
            is_damaged = any(damage.segment == offset for damage in self._log.damaged)
            if is_damaged or segment.size_bytes != self._sizes[offset]:
                raise LogChanged(
                    f"segment {offset} of {self._log.directory} is damaged, or was repaired since its compaction began"
                )

    async def _sync_directory(self) -> None:
        await self._offload.run(partial(self._files.sync_dir, self._log.directory))


def _remove(files: FileSystem, paths: list[str]) -> None:
    for path in paths:
        try:
            files.remove(path)
        except OSError as error:
            _log.warning("Cannot remove %s (%s): the next start tries again", path, error.strerror)
