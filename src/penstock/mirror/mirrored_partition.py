"""A partition while this broker leads it and copies it from another cluster.

A source never truncates what it has returned below its high watermark, so the copy is never truncated either. A source
that lacks records of the copy has lost them, or is another topic: the copy stops with an error, and keeps what it has.
"""

from penstock.cluster.fetching.followed_partition import FollowedPartition
from penstock.cluster.fetching.position import Append
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotLeader
from penstock.protocol.errors import ErrorCode
from penstock.storage.errors import LogError
from penstock.storage.files import Buffer
from penstock.storage.log.values import Appended
from penstock.storage.store.log_store import LogStore


class SourceDiverged(LogError):
    """The source does not have the records that were copied from it."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class MirroredPartition(FollowedPartition):
    __slots__ = (
        "_dropped_ms",
        "has_dropped",
        "is_frozen",
        "may_truncate",
        "source_offset",
        "source_start",
        "target",
        "trouble",
        "truncated_from",
    )

    def __init__(self, replica: Replica, store: LogStore, *, may_truncate: bool) -> None:
        """`may_truncate`: the topic existed here before, and loses the records that the source does not have."""
        super().__init__(replica, store)
        self.may_truncate = may_truncate
        self.source_offset = -1
        """The high watermark of the source."""
        self.source_start = -1
        self.trouble = ""
        """Why nothing is copied at the moment."""
        self.is_frozen = False
        """Whether it is ready to be promoted: nothing is copied any more."""
        self.target: int | None = None
        """The offset that a promotion waits for."""
        self.truncated_from = -1
        self.has_dropped = False
        """Whether it has no open transaction, on no in-sync replica."""
        self._dropped_ms = replica.deps.clock.monotonic_ms()

    @property
    def lag(self) -> int | None:
        """How many offsets the source has that are not here; None if that is not known yet."""
        if self.source_offset < 0 or not self.replica.is_open:
            return None
        return max(0, self.source_offset - self.replica.log.log_end_offset)

    def require(self) -> None:
        replica = self.replica
        is_current = replica.is_leader and replica.leader_epoch == self.leader_epoch
        if not is_current or not replica.is_read_only or self.is_frozen:
            raise NotLeader(
                f"this broker does not copy {replica.topic}-{replica.partition} in leader epoch {self.leader_epoch}"
            )

    def must_start_over(self, answer: Append) -> bool:  # noqa: ARG002
        """Never: a record that is here was below the high watermark of the source."""
        return False

    def on_trouble(self, reason: str) -> None:
        self.trouble = reason

    def _store_records(self, records: Buffer, now_ms: int) -> Appended | None:
        log = self.replica.log
        return log.append_replicated(
            records,
            now_ms=now_ms,
            leader_epoch=self.leader_epoch,
            leader_epoch_min=self.view().latest_epoch,
        )

    def follow_offsets(self, high_watermark: int, log_start_offset: int) -> None:
        """Remember the source's offsets. The high watermark here is that of the local replicas. Raises `LogError`."""
        self.require()
        self.trouble = ""
        self.source_offset = high_watermark
        self.source_start = log_start_offset
        self.follow_start()

    def follow_start(self) -> None:
        """Delete what the source has deleted. Raises `LogError`."""
        replica = self.replica
        if replica.log.committed_offset > replica.high_watermark:  # the topic does not wait for the disk
            replica.on_log_advanced()
        start = min(self.source_start, replica.high_watermark)
        if start > replica.log.log_start_offset:
            replica.log.advance_log_start(start)

    async def truncate(self, offset: int) -> None:
        end_offset = self.replica.log.log_end_offset
        if offset < end_offset and not self.may_truncate:
            raise SourceDiverged(
                f"the source has lost or replaced records from offset {offset} on, and {end_offset} is the end here: "
                "nothing is copied. Promote the mirror to keep what is here, or delete the topic to copy it again"
            )
        await super().truncate(offset)

    async def start_over(self, offset: int) -> None:
        end_offset = self.replica.log.log_end_offset
        if offset < end_offset and not self.may_truncate:
            raise SourceDiverged(
                f"the source begins at offset {offset} and does not have offset {end_offset}, the end here: nothing is "
                "copied. Promote the mirror to keep what is here, or delete the topic to copy it again"
            )
        await super().start_over(offset)

    async def start_inside(self, base_offset: int) -> None:
        await super().start_over(base_offset)

    async def drop_open_transactions(self) -> None:
        """Truncate to the last stable offset, for a forced promotion.

        It is complete when the in-sync followers have truncated too: one of them may lead next, and would keep the
        open transactions for ever.
        """
        replica = self.replica
        end_offset = replica.log.log_end_offset
        if replica.high_watermark < end_offset:  # an end of a transaction counts once it is committed
            self.is_frozen = True
            return
        self.is_frozen = False
        if self.truncated_from < 0:
            self.truncated_from = end_offset
        unstable = replica.log.first_unstable_offset
        if unstable is not None and unstable < end_offset:
            await super().truncate(unstable)
            self._dropped_ms = replica.deps.clock.monotonic_ms()
        self.is_frozen = True
        end_offset, followers = replica.log.log_end_offset, replica.followers
        self.has_dropped = (
            self.truncated_from <= end_offset
            or followers is None
            or followers.have_ended_at(end_offset, self._dropped_ms)
        )
