"""Checkpoints of a log, which let a recovery begin at the log's current end.

Blocking work is handed out as a job, to be run on a thread and then passed to `finish`.
"""

import logging
from functools import partial

from penstock.storage.errors import StorageFailure
from penstock.storage.leader_epochs import encode_checkpoint
from penstock.storage.log.log import Log
from penstock.storage.log.values import LEADER_EPOCHS
from penstock.storage.producers.snapshot import encode_snapshot
from penstock.storage.sync import CheckpointJob, Encode

_log = logging.getLogger(__name__)


class LogCheckpoint:
    """A client of one log, without separate state. Only the event loop calls it."""

    __slots__ = ("_log",)

    def __init__(self, log: Log) -> None:
        self._log = log

    def begin(self, *, is_without_producers: bool = False) -> CheckpointJob | None:
        """A job that lets recovery start at the present end; None if it already can, or never can.

        `is_without_producers`: recovery reads them from the last snapshot on. Raises `OSError` when the files cannot be
        opened.
        """
        log, chain = self._log, self._log.chain
        has_deletable = chain.number_of(log.log_start_offset) > 0
        if log.failure is not None or (chain.end_offset == log.recovery_point and not has_deletable):
            return None
        if log.producers.unverified_from is not None and not is_without_producers:
            chain.count_anew()
            return None  # unverified state must not be saved as if it were verified
        index_paths = self._save_indexes()
        if index_paths is None:
            self._make_room()
            return None  # recovery rebuilds the indexes if it starts below them
        sync = log.begin_sync()
        contents: dict[str, Encode] = {}
        if not is_without_producers:
            contents[log.snapshots.path(sync.end_offset)] = partial(encode_snapshot, log.producers.snapshot())
        if not log.epochs.is_saved:
            contents[f"{log.directory}/{LEADER_EPOCHS}"] = partial(encode_checkpoint, log.epochs.entries)
            log.epochs.is_saved = True
        chain.count_anew()
        return CheckpointJob(
            log.files, sync, index_paths, contents, is_without_producers=is_without_producers
        )

    def _save_indexes(self) -> list[str] | None:
        """Save the indexes from the recovery point on. Returns their files, None when one could not be saved."""
        chain = self._log.chain
        index_paths: list[str] = []
        for segment in chain.segments[chain.number_of(self._log.recovery_point) :]:
            paths = segment.index_files_to_sync()
            if paths is None:
                return None
            index_paths += paths
        return index_paths

    def finish(self, job: CheckpointJob, error: OSError | None = None) -> None:
        """The job ran: move the recovery point, which the store then saves."""
        log = self._log
        if log.finish_sync(job.sync, error):
            log.notify_durable()  # a sync that ends later makes nothing more durable, and would not notify
        if log.is_closed:
            return
        if job.error is not None:
            _log.warning("Checkpoint of %s failed (%s): recovery takes longer", log.directory, job.error)
            self._make_room()
        is_void = error is not None or job.error is not None or job.sync.generation != log.generation
        if is_void or (log.producers.unverified_from is not None and not job.is_without_producers):
            log.epochs.is_saved = False
            log.snapshots.remove_unlisted(job.sync.end_offset)
            return
        log.recovery_point = job.sync.end_offset
        if job.has_snapshot:
            log.snapshots.note_written(job.sync.end_offset, [each.base_offset for each in log.segments])
            log.delete_below_start()

    def _make_room(self) -> None:
        """Delete the segments below the start though no snapshot can be written: a full disk, which would stay full, is
        worse than losing, only after a crash, a producer that wrote nothing since.
        """
        chain = self._log.chain
        chain.delete_oldest(chain.number_of(self._log.log_start_offset))

    def begin_close(self) -> CheckpointJob | None:
        """A job after which the next start need not recover the log; None if nothing is to be done. Then `Log.abandon`.

        A log that has failed is left unchanged.
        """
        log = self._log
        if log.failure is not None:
            return None
        try:
            log.chain.seal()
            job = self.begin()
            is_unsynced = bool(log.chain.unsynced) or log.chain.names_unsynced
            if job is None and is_unsynced and log.chain.end_offset > 0:
                job = CheckpointJob(log.files, log.begin_sync(), (), {})
        except OSError as error:
            log.fail(StorageFailure(f"cannot close {log.directory}: {error.strerror}"))
            return None
        return job
