"""A partition while it is followed in one leader epoch: how a follower writes what its leader has.

The fetcher waits for its leader and for the disk between one step and the next, and the partition may get another
leader meanwhile, or be led here. Each step is therefore refused in any other epoch than the one it was begun in.
"""

from penstock.cluster.commit import Commit
from penstock.cluster.replica import Replica
from penstock.cluster.topic_names import is_internal
from penstock.storage.files import Buffer
from penstock.storage.log.errors import LogError, StorageError
from penstock.storage.log_store import LogStore


class FollowedPartition:
    __slots__ = (
        "_store",
        "awaits_disk",
        "lacks_space",
        "leader_epoch",
        "replica",
        "resting_until_ms",
    )

    def __init__(self, replica: Replica, store: LogStore) -> None:
        self.replica = replica
        self.leader_epoch = replica.leader_epoch
        self._store = store
        self.awaits_disk = False
        self.lacks_space = False
        """Whether there was no space for what its leader gave last."""
        self.resting_until_ms = 0.0

    @property
    def lacks_records(self) -> bool:
        """Whether records are missing that it had: a start looks for them, and opens the log if there are any."""
        return self.replica.is_open and self.replica.log.first_missing_offset is not None

    @property
    def has_room(self) -> bool:
        """Whether the disk takes more records of this partition, as far as is known."""
        return self.replica.deps.disk.room_bytes > 0 or is_internal(self.replica.topic)

    def append(self, records: Buffer, now_ms: int) -> Commit:
        """Store what the leader gave; the commit is done when it is on the disk, and has failed if it is refused."""
        replica, deps = self.replica, self.replica.deps
        commit = Commit(self.leader_epoch, acks=1, size_bytes=len(records))
        try:
            replica.require_follower(self.leader_epoch)
            if len(records) > deps.disk.room_bytes and not is_internal(replica.topic):
                raise deps.disk.refuse(f"{replica.topic}-{replica.partition}")
            appended = replica.log.append_replicated(records, now_ms=now_ms, leader_epoch=self.leader_epoch)
        except LogError as error:
            if isinstance(error, StorageError):
                deps.on_storage_error(error)
            commit.fail(error)
            return commit
        if appended is None:
            commit.resolve(None)
            return commit
        commit.appended = appended
        commit.last_offset = appended.last_offset
        deps.flusher.request(replica.log)
        deps.disk.room_bytes -= len(records)
        replica.appends.wait(commit, replica.log)
        return commit

    def follow_offsets(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over the leader's high watermark and log start.

        The high watermark only as far as the records are here and synced, the start only as far as that. Raises
        `LogError`.
        """
        replica = self.replica
        replica.require_follower(self.leader_epoch)
        replica.advance_high_watermark(min(high_watermark, replica.log.committed_offset))
        start = min(log_start_offset, replica.high_watermark)
        if start > replica.log.log_start_offset:
            replica.log.advance_log_start(start)

    async def truncate(self, offset: int) -> None:
        """Drop the records from `offset` on, which the leader does not have. Raises `LogError`.

        Waits for the disk. Whoever leads or follows another leader by then keeps its records.
        """
        await self._allow_truncation(offset)
        self._truncate_to(offset)

    async def rebuild(self) -> None:
        """Drop all records from the first missing one on: the leader has them. Raises `LogError`."""
        missing = self.replica.log.first_missing_offset
        if missing is None:
            return
        await self._allow_truncation(missing)
        if self.replica.log.first_missing_offset == missing:  # else they were repaired meanwhile
            self._truncate_to(missing)

    async def start_over(self, offset: int) -> None:
        """Drop all records and go on at `offset`, where the leader has its first batch.

        Waits for the disk, and raises `LogError`, as `truncate` does.
        """
        await self._allow_truncation(offset)
        self.replica.log.truncate_fully_and_start_at(offset)
        self.replica.truncated(offset)

    async def _allow_truncation(self, offset: int) -> None:
        self.replica.require_follower(self.leader_epoch)
        await self._store.allow_truncation(self.replica.log, offset)
        self.replica.require_follower(self.leader_epoch)

    def _truncate_to(self, offset: int) -> None:
        replica = self.replica
        end_offset = replica.log.truncate_to(offset, now_ms=replica.deps.clock.now_ms())
        # After an unclean election even records that had been committed may be gone.
        replica.truncated(min(replica.high_watermark, end_offset))
