"""Checkpoints of one log: when one is due, what it writes, and which segments may be deleted after it."""

from functools import partial

from penstock.storage.files import FileSystem
from penstock.storage.leader_epochs import LeaderEpochs, encode_checkpoint
from penstock.storage.log.sync import CheckpointJob, Encode, SyncJob
from penstock.storage.log.values import LEADER_EPOCHS
from penstock.storage.producer_snapshot import encode_snapshot
from penstock.storage.producer_state import ProducerStates
from penstock.storage.segment_chain import SegmentChain
from penstock.storage.snapshot_files import SnapshotFiles

CHECKPOINT_BYTES = 64 << 20
CHECKPOINT_BATCHES = 200_000
"""A checkpoint is due after so much: reading and checking it again takes a recovery a fraction of a second."""


class LogCheckpoints:
    __slots__ = ("_chain", "batches_at_last", "bytes_at_last", "epochs_are_saved", "snapshots")

    def __init__(self, chain: SegmentChain, snapshots: SnapshotFiles, *, epochs_are_saved: bool) -> None:
        self._chain = chain
        self.snapshots = snapshots
        self.epochs_are_saved = epochs_are_saved
        self.bytes_at_last = 0
        self.batches_at_last = 0

    def postpone(self) -> None:
        """Let the next be due when as much has been written again."""
        self.bytes_at_last = self._chain.bytes_written
        self.batches_at_last = self._chain.batches_written

    def save_indexes(self, recovery_point: int) -> list[str] | None:
        """Save the indexes from the recovery point on; gives their files, None when one could not be saved."""
        index_paths: list[str] = []
        for segment in self._chain.segments[self._chain.number_of(recovery_point) :]:
            paths = segment.index_files_to_sync()
            if paths is None:
                return None
            index_paths += paths
        return index_paths

    def begin(
        self,
        files: FileSystem,
        sync: SyncJob,
        index_paths: list[str],
        producers: ProducerStates,
        epochs: LeaderEpochs,
    ) -> CheckpointJob:
        """What writes the producers and, if need be, the leader epochs as they are now, when `sync` is through."""
        contents: dict[str, Encode] = {
            self.snapshots.path(sync.end_offset): partial(encode_snapshot, producers.snapshot())
        }
        if not self.epochs_are_saved:
            contents[f"{self._chain.directory}/{LEADER_EPOCHS}"] = partial(encode_checkpoint, epochs.entries)
            self.epochs_are_saved = True
        self.postpone()
        return CheckpointJob(files, sync, index_paths, contents)

    def finish(self, job: CheckpointJob) -> None:
        """What the job has written counts."""
        if job.has_snapshot:
            bases = [segment.base_offset for segment in self._chain.segments]
            self.snapshots.note_written(job.sync.end_offset, bases)

    def discard(self, job: CheckpointJob) -> None:
        """What the job has written does not count."""
        self.epochs_are_saved = False
        self.snapshots.remove_unlisted(job.sync.end_offset)

    def delete_below(self, log_start_offset: int, producers: ProducerStates) -> None:
        """Delete the segments below the start whose producers are in a snapshot: retries must still be known."""
        count = self._chain.number_of(log_start_offset)
        if len(producers):
            count = min(count, self._chain.number_of(self.snapshots.newest or 0))
        self._chain.delete_oldest(count)

    def make_room(self, log_start_offset: int) -> None:
        """Delete the segments below the start though no snapshot can be written: a full disk, which would stay full,
        is worse than not to know a producer that wrote nothing since, and only after a crash.
        """
        self._chain.delete_oldest(self._chain.number_of(log_start_offset))
