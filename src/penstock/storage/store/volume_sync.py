"""One sync of the file system for all logs that recovery has opened."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from penstock.runtime.offload import Offload
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.errors import StorageFailure
from penstock.storage.files import Volume
from penstock.storage.journal.journal import Journal
from penstock.storage.log.log import Log
from penstock.storage.sync import SyncJob


class VolumeSync:
    def __init__(
        self,
        volume: Volume,
        directory: str,
        logs: Mapping[PartitionName, Log],
        journal: Journal | None,
        offload: Offload,
    ) -> None:
        self._volume = volume
        self._directory = directory
        self._logs = logs
        self._journal = journal
        self._offload = offload

    async def run(self) -> None:
        """Make the open logs durable, except for logs on another file system.

        If the sync fails, neither the open logs nor the journal take further writes.
        """
        # Not logs that are being synced: a job must not end before a job that it relies on.
        logs = [log for log in self._logs.values() if log.has_unsynced and not (log.failure or log.syncing)]
        jobs = [(log, log.begin_sync(opens_files=False)) for log in logs if self._volume.holds(log.directory)]
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Not awaited directly: the jobs must end even if the waiter is gone; otherwise a close would wait forever.
        self._offload.call(self._volume.sync, partial(self._on_all_synced, jobs, ended))
        await ended

    def _on_all_synced(
        self,
        jobs: Sequence[tuple[Log, SyncJob]],
        ended: "asyncio.Future[None]",
        _: object,
        error: BaseException | None,
    ) -> None:
        failure = error if error is None or isinstance(error, OSError) else OSError(str(error))
        if failure is not None:
            self._fail_all(failure)
        for log, job in jobs:
            job.end(failure)
            if log.finish_sync(job, failure):
                log.notify_durable()
        if not ended.done():
            ended.set_result(None)
        if error is not failure and error is not None:
            raise error

    def _fail_all(self, error: OSError) -> None:
        """Accept no more writes after a failed sync of the file system, which does not say whose pages the disk lacks.

        They may belong to a log that had nothing to sync, because its records are in the journal, or to the journal.
        The kernel treats them as clean: a later sync would succeed, and move a recovery point over the hole.
        """
        failure = StorageFailure(
            f"the file system of {self._directory} could not be synced ({error.strerror or error}): check the disk, "
            "then restart the broker"
        )
        if self._journal is not None:
            self._journal.fail(failure)
        for log in list(self._logs.values()):
            log.fail(failure)
