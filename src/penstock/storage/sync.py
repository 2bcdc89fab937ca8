"""Jobs of a log for a thread: syncs, and checkpoints that shorten the recovery after a crash."""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from penstock.runtime.offload import Offload
from penstock.storage.errors import LogClosed
from penstock.storage.file_cache import Handle
from penstock.storage.files import TEMPORARY, FileSystem, write_temporary

Encode = Callable[[], bytes]

_log = logging.getLogger(__name__)


class SyncJob:
    """Group commit: makes every record below `end_offset` survive a power cut. Made and ended by the log.

    A job relies on the job that was begun before it, if that has not ended: it waits for it, and fails with it.
    Of two syncs of one file at once, the kernel reports a failure to only one.
    """

    __slots__ = (
        "_before",
        "_directories",
        "_files",
        "_running",
        "covers_names",
        "end_offset",
        "failure",
        "generation",
        "handles",
    )

    def __init__(
        self,
        files: FileSystem,
        handles: Sequence[Handle],
        directories: Sequence[str],
        *,
        end_offset: int,
        generation: int,
        before: "SyncJob | None",
    ) -> None:
        self._files = files
        self._directories = directories
        self._before = before
        self.covers_names: bool = bool(directories) or (before is not None and before.covers_names)
        """Whether names become durable with it, or with the job that it waits for."""
        self.failure: OSError | None = None
        self._running = threading.Lock()
        self._running.acquire()
        self.handles = handles
        self.end_offset = end_offset
        self.generation = generation

    def run(self) -> None:
        """Wait for the disk: call it on a thread. Raises `OSError` when anything may not have become durable."""
        try:
            if self._before is not None:
                self._before.wait()
                self._before = None
            for handle in self.handles:
                handle.file.sync()
            for directory in self._directories:
                # A file whose name is lost in a power cut is lost, even if its bytes were synced.
                self._files.sync_dir(directory)
        except BaseException as error:
            self.failure = error if isinstance(error, OSError) else OSError(str(error))
            raise
        finally:
            self._running.release()

    @property
    def sole_descriptor(self) -> int | None:
        """The file whose sync is all there is to do, when the kernel knows it; then `end` may replace `run`."""
        if self._before is not None or self._directories or len(self.handles) != 1:
            return None
        return self.handles[0].file.descriptor

    def end(self, failure: OSError | None) -> None:
        """The sync of the sole file was done elsewhere."""
        self.failure = failure
        self._running.release()

    @property
    def must_wait(self) -> bool:
        """Whether `run` would wait now for the job before it: with a single thread, that would be forever."""
        return self._before is not None and self._before.is_running

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, begun or not."""
        return self._running.locked()

    def wait(self) -> None:
        """Wait until `run` has ended on another thread; raises its exception."""
        with self._running:
            if self.failure is not None:
                raise self.failure


class CheckpointJob:
    """Saves everything below `sync.end_offset`, so that recovery need not check it: the records themselves,
    the indexes, and in separate small files the producers and leader epochs as of that offset.
    """

    __slots__ = ("_contents", "_files", "_index_paths", "error", "failure", "is_without_producers", "sync")

    def __init__(
        self,
        files: FileSystem,
        sync: SyncJob,
        index_paths: Sequence[str],
        contents: dict[str, Encode],
        *,
        is_without_producers: bool = False,
    ) -> None:
        """`contents` are encoded where the job runs: encoding many producers would block the loop."""
        self._files = files
        self._index_paths = index_paths
        self._contents = contents
        self.sync = sync
        self.is_without_producers = is_without_producers
        """Whether it is valid although it does not save the producers."""
        self.failure: OSError | None = None
        """The error of the sync, after `run_noting_failure`."""
        self.error: OSError | LogClosed | None = None
        """The error that makes the checkpoint invalid, though the records were synced."""

    @property
    def must_wait(self) -> bool:
        return self.sync.must_wait

    @property
    def has_snapshot(self) -> bool:
        """Whether it saves the producers."""
        return bool(self._contents) and not self.is_without_producers

    def run(self) -> None:
        """Wait for the disk: call it on a thread. Raises `OSError` when the records were not synced."""
        self.sync.run()
        try:
            for path in self._index_paths:
                file = self._files.open(path)
                try:
                    file.sync()
                finally:
                    file.close()
            if self._contents:
                self._replace_files()
        except (OSError, LogClosed) as error:
            self.error = error

    def _replace_files(self) -> None:
        """Like `write_atomically` for each, with one sync of the directory for all."""
        for path, encode in self._contents.items():
            write_temporary(self._files, path, encode())
        for path in self._contents:
            self._files.rename(path + TEMPORARY, path)
        self._files.sync_dir(os.path.dirname(path))

    def run_noting_failure(self) -> None:
        """Like `run`, for jobs that are run together and must not stop each other."""
        try:
            self.run()
        except OSError as error:
            self.failure = error


class Syncable(Protocol):
    """A log whose segments can be synced."""

    @property
    def directory(self) -> str: ...

    def begin_sync(self) -> SyncJob: ...

    def finish_sync(self, job: SyncJob, error: OSError | None = None) -> bool: ...

    def notify_durable(self) -> None: ...


async def sync_segments(logs: Sequence[Syncable], offload: Offload) -> None:
    """Sync the logs whose files can be opened. `segments_durable_offset` shows the caller which ones were synced."""
    jobs: list[tuple[Syncable, SyncJob]] = []
    for log in logs:
        try:
            jobs.append((log, log.begin_sync()))
        except OSError as error:
            _log.warning("Cannot open a segment of %s to sync it: %s", log.directory, error.strerror)
    if jobs:
        running = offload.start(partial(run_all, [job for _, job in jobs]))
        await asyncio.shield(_finish(jobs, running))  # a caller that is cancelled leaves no sync unfinished


async def _finish(jobs: Sequence[tuple[Syncable, SyncJob]], running: "asyncio.Future[None]") -> None:
    await running
    for log, job in jobs:
        if log.finish_sync(job, job.failure):
            log.notify_durable()


def run_all(jobs: Sequence[SyncJob]) -> None:
    """On a thread: one log's failure does not affect others."""
    for job in jobs:
        try:
            job.run()
        except OSError:
            _log.debug("Sync failed; its log reports the failure")
