"""A partition while this broker follows it in one leader epoch: how a follower writes its leader's records.

The fetcher waits for its leader and for the disk between two steps, and the leader may change meanwhile. So each step
is refused in any other epoch than the one in which it began.
"""

from penstock.cluster.commit import Commit
from penstock.cluster.fetching import position
from penstock.cluster.fetching.position import Append, LogView
from penstock.cluster.metadata.topic_names import is_internal
from penstock.cluster.replica import Replica
from penstock.storage.errors import LogError, StorageError, StorageFailure
from penstock.storage.files import Buffer
from penstock.storage.log.values import Appended
from penstock.storage.store.log_store import LogStore


class FollowedPartition:
    __slots__ = (
        "_store",
        "awaits_disk",
        "backoff_until_ms",
        "lacks_space",
        "leader_epoch",
        "replica",
    )

    def __init__(self, replica: Replica, store: LogStore) -> None:
        self.replica = replica
        self.leader_epoch = replica.leader_epoch
        self._store = store
        self.awaits_disk = False
        self.lacks_space = False
        """Whether there was no disk space for the last records of the leader."""
        self.backoff_until_ms = 0.0

    @property
    def lacks_records(self) -> bool:
        """Whether the log has lost records. The broker's start checks that, and opens such logs."""
        return self.replica.is_open and self.replica.log.first_missing_offset is not None

    @property
    def has_room(self) -> bool:
        """Whether the disk has room for more records of this partition."""
        return self.replica.deps.disk.room_bytes > 0 or is_internal(self.replica.topic)

    def view(self) -> LogView:
        """Raises `LogError` or `OSError`."""
        own = self.replica.log
        if own.failure is not None:
            raise StorageFailure(str(own.failure))
        epoch = own.epochs.latest_epoch
        is_empty = own.log_end_offset == own.log_start_offset
        return LogView(
            end_offset=own.log_end_offset,
            latest_epoch=-1 if epoch is None or is_empty else epoch,
            start_offset=own.log_start_offset,
        )

    def must_start_over(self, answer: Append) -> bool:
        """Whether the records here cannot be compared with the leader's any more."""
        return position.must_start_over(
            answer, self.view(), high_watermark=self.replica.high_watermark, leader_epoch=self.leader_epoch
        )

    def on_trouble(self, reason: str) -> None:
        """The next fetch waits for a while, for this reason."""

    def require(self) -> None:
        """Raise `LogError` unless the replica is in the role and the leader epoch in which this began."""
        self.replica.require_follower(self.leader_epoch)

    def append(self, records: Buffer, now_ms: int) -> Commit:
        """Append the leader's records; the commit is done when they are on the disk, and fails if they are refused."""
        replica, deps = self.replica, self.replica.deps
        commit = Commit(self.leader_epoch, acks=1, size_bytes=len(records))
        try:
            self.require()
            if len(records) > deps.disk.room_bytes and not is_internal(replica.topic):
                raise deps.disk.refuse(f"{replica.topic}-{replica.partition}")
            appended = self._store_records(records, now_ms)
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
        if replica.end_readers:
            replica.end_readers.wake()
        deps.disk.room_bytes -= len(records)
        replica.appends.wait(commit, replica.log)
        return commit

    def _store_records(self, records: Buffer, now_ms: int) -> Appended | None:
        return self.replica.log.append_replicated(records, now_ms=now_ms, leader_epoch=self.leader_epoch)

    def follow_offsets(self, high_watermark: int, log_start_offset: int) -> None:
        """Copy the leader's high watermark and log start offset. Raises `LogError`.

        The high watermark only up to the last synced record here, the log start only up to the high watermark.
        """
        replica = self.replica
        self.require()
        replica.advance_high_watermark(min(high_watermark, replica.log.committed_offset))
        start = min(log_start_offset, replica.high_watermark)
        if start > replica.log.log_start_offset:
            replica.log.advance_log_start(start)

    async def truncate(self, offset: int) -> None:
        """Truncate the records from `offset` on, which the leader does not have. Raises `LogError`.

        Waits for the disk, and truncates nothing if the leader has changed by then.
        """
        await self._allow_truncation(offset)
        self._truncate_to(offset)

    async def rebuild(self) -> None:
        """Truncate to the first missing record: the leader has the rest. Raises `LogError`."""
        missing = self.replica.log.first_missing_offset
        if missing is None:
            return
        await self._allow_truncation(missing)
        if self.replica.log.first_missing_offset == missing:  # otherwise they were repaired meanwhile
            self._truncate_to(missing)

    async def start_over(self, offset: int) -> None:
        """Delete all records and continue at `offset`, where the leader has its first batch.

        Waits for the disk, and raises `LogError`, as `truncate` does.
        """
        await self._allow_truncation(offset)
        self.replica.log.truncate_fully_and_start_at(offset)
        self.replica.truncated(offset)

    async def start_inside(self, base_offset: int) -> None:
        """Let an empty log start at the base offset of the leader's first batch, which is before its log start."""
        await self.start_over(base_offset)

    async def _allow_truncation(self, offset: int) -> None:
        self.require()
        await self._store.allow_truncation(self.replica.log, offset)
        self.require()

    def _truncate_to(self, offset: int) -> None:
        replica = self.replica
        end_offset = replica.log.truncate_to(offset, now_ms=replica.deps.clock.now_ms())
        # After an unclean election even committed records may be gone.
        replica.truncated(min(replica.high_watermark, end_offset))
