"""One partition on this broker: its log, its role, its high watermark.

Records below the high watermark are committed: synced here (unless the topic waives that) and held by every in-sync
replica. Producers wait for it, consumers never read beyond it. A leader computes it from its own disk and from the
fetch offsets of its followers; a follower copies its leader's.

The caller of a write passes the leader epoch in which it decided to write, because it may have waited since: for the
disk, a thread, another broker. The replica refuses a write of another epoch, whatever the caller has checked before.

    not held ──> follower <──> leader      as the metadata says; a new leader epoch begins each time
"""

import asyncio
import logging
from collections.abc import Callable

from penstock.cluster.append_queue import AppendQueue, fail_all, resolve_below
from penstock.cluster.commit import ALL, Commit
from penstock.cluster.in_sync import Followers, WantedSet
from penstock.cluster.metadata.state import NO_LEADER, Partition
from penstock.cluster.replica_deps import ReplicaDeps
from penstock.cluster.replica_errors import (
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotFollower,
    NotLeader,
    PartitionGone,
    ReadOnlyPartition,
)
from penstock.cluster.waiting import WaitingReaders
from penstock.config.topic import TopicConfig
from penstock.protocol.errors import ErrorCode
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.errors import LogCorrupt, LogError
from penstock.storage.files import Buffer
from penstock.storage.log.log import Log
from penstock.storage.log.values import Origin
from penstock.storage.producers.transaction_permit import TransactionPermit
from penstock.storage.recovery.missing import report

_log = logging.getLogger(__name__)

_NO_EPOCH = -1
_CLIENT = Origin.CLIENT  # in Python 3.11 it takes a call to get a member of an enum


class Replica:
    __slots__ = (
        "_log",
        "_open_log",
        "_readers",
        "_saved_high_watermark",
        "_why_not_opened",
        "appends",
        "bytes_in",
        "bytes_out",
        "deps",
        "end_readers",
        "followers",
        "high_watermark",
        "is_leader",
        "is_open",
        "is_read_only",
        "is_replicated",
        "leader_epoch",
        "leader_id",
        "partition",
        "promoted_epoch",
        "state",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        topic: str,
        topic_id: bytes,
        partition: int,
        open_log: Callable[[], Log],
        deps: ReplicaDeps,
        *,
        saved_high_watermark: int | None = None,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.is_leader = False
        self.is_open = False
        """Whether the log is open."""
        self.is_replicated = False
        """Whether other brokers hold this partition too."""
        self.is_read_only = False
        """Whether only a mirror of another cluster may write it. Its leader epochs are those of its source then."""
        self.promoted_epoch = _NO_EPOCH
        """The leader epoch that began with its promotion, if it was such a mirror."""
        self.leader_id = NO_LEADER
        self.leader_epoch = _NO_EPOCH
        self.high_watermark = 0
        self.bytes_in = 0  # of clients, since the start
        self.bytes_out = 0
        self.state: Partition | None = None
        self._open_log = open_log
        self.deps = deps
        self._saved_high_watermark = saved_high_watermark
        self._log: Log | None = None
        self._why_not_opened: LogError | None = None
        self.followers: Followers | None = None
        """None unless this replica leads and has followers."""
        self.appends = AppendQueue(self)
        self._readers = WaitingReaders()
        self.end_readers = WaitingReaders()  # followers, which read beyond the high watermark

    # -- the log --------------------------------------------------------------------------------------

    @property
    def log(self) -> Log:
        """The log, opened on first use: a broker with thousands of idle partitions starts at once.

        Raises `LogError` or `OSError`; `Replicas` opens it first, so a replica from there has an open log. A damaged
        log is not opened again before a restart.
        """
        opened = self._log
        if opened is None:
            if self._why_not_opened is not None:
                raise self._why_not_opened.with_traceback(None)
            try:
                opened = self._log = self._open_log()
            except LogCorrupt as error:
                self._why_not_opened = error
                raise
            self.is_open = True
            self.high_watermark = self._first_high_watermark(opened)
            opened.producers.advance_high_watermark(self.high_watermark)  # recovery has replayed the markers
            opened.on_durable = self.on_log_advanced
            opened.on_suspicion = self._suspect
            if not self.is_replicated:
                opened.producers.trust()
            if self.promoted_epoch >= 0:
                opened.follow_own_epoch(self.promoted_epoch)
            if opened.losses:
                name = PartitionName(self.topic, self.partition)
                _log.error("Lost records in %s-%d: %s", *name, report(name, opened.losses))
            if opened.damaged or opened.producers.unverified_from is not None:
                self._suspect()
            if self.is_leader:
                self._begin_epoch(opened)
        return opened

    def _first_high_watermark(self, opened: Log) -> int:
        """All records of a single replica are committed; with others, only those known to be: they may have less."""
        if self.state is None or len(self.state.replicas) == 1:
            return opened.committed_offset
        saved = self._saved_high_watermark or 0
        return max(opened.log_start_offset, min(saved, opened.committed_offset))

    def recovered(self) -> None:
        """The records found by recovery are synced now: restore the saved high watermark."""
        self.advance_high_watermark(self._first_high_watermark(self.log))

    def _suspect(self) -> None:
        self.deps.on_suspicion(self)

    def configure(self, config: TopicConfig) -> None:
        """Apply new settings of the topic, and commit or fail waiting appends by them."""
        log = self._log
        if log is None:
            return
        self.write_queued()  # these were checked by the old settings
        log.configure(config)
        if log.has_unsynced:
            self.deps.flusher.request(log)  # `flush.messages` may be 1 now
        self._refuse_if_too_few()
        self._advance()

    def set_mirrored(self, *, is_read_only: bool, promoted_epoch: int) -> None:
        """A mirror begins or ends to write the partition; a promotion begins a leader epoch after this."""
        self.write_queued()
        self.is_read_only = is_read_only
        if promoted_epoch != self.promoted_epoch:
            self.promoted_epoch = promoted_epoch
            if self._log is not None:
                self._log.follow_own_epoch(promoted_epoch)

    def close(self, reason: PartitionGone | NotLeader) -> None:
        """Fail all waiters: the partition was deleted, or moved to other brokers."""
        self._why_not_opened = reason  # opening the log would create it again
        self.is_leader = False
        self.leader_epoch = _NO_EPOCH
        self.appends.fail(self._why_not_opened)
        self.wake_readers()

    # -- its part in the cluster ----------------------------------------------------------------------

    def follow(self, state: Partition) -> None:
        """Apply a new state of the partition in the metadata; a new epoch wakes long polls."""
        self.write_queued()
        self.state = state
        self.is_replicated = len(state.replicas) > 1
        if state.leader_epoch != self.leader_epoch:
            self.leader_id = state.leader
            self.leader_epoch = state.leader_epoch
            self.is_leader = state.leader == self.deps.node_id
            self.followers = None
            if not self.is_leader:
                self.appends.fail(NotLeader(f"{self.topic}-{self.partition} is led by broker {state.leader}"))
            elif self._log is not None:
                self._begin_epoch(self._log)
            self.wake_readers()
        elif self.is_leader and self._log is not None:
            self._follow_followers(self._log, state)

    def _begin_epoch(self, log: Log) -> None:
        if not self.is_read_only:
            log.begin_epoch(self.leader_epoch)
        if self.state is not None:
            self._follow_followers(log, self.state)

    def _follow_followers(self, log: Log, state: Partition) -> None:
        now_ms = self.deps.clock.monotonic_ms()
        if self.followers is not None:
            self.followers.follow(state, now_ms)
            self._refuse_if_too_few()
        elif len(state.replicas) > 1:
            self.followers = Followers(
                self.deps.node_id,
                state,
                epoch_start=log.log_end_offset if self.is_read_only else log.epochs.entries[-1].start_offset,
                now_ms=now_ms,
                lag_ms_max=self.deps.lag_ms_max(),
                may_join=self.deps.may_join,
            )
        self._advance()

    def follower_fetched(self, broker_id: int, broker_epoch: int, offset: int) -> ErrorCode:
        """Handle a follower's fetch offset: it has all records below on its disk."""
        followers = self.followers
        if followers is None or broker_id not in followers:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # it learned of its assignment before this leader did
        followers.fetched(
            broker_id,
            broker_epoch,
            offset,
            self.log.log_end_offset,
            self.deps.clock.monotonic_ms(),
        )
        self._advance()
        if broker_id not in followers.in_sync or offset < self.high_watermark:
            self.deps.on_in_sync_change(self)
        return ErrorCode.NONE

    def refused_in_sync(self, wanted: WantedSet) -> None:
        """The controller refused an in-sync set of this epoch. Not to be called when it did not answer."""
        if self.followers is not None and wanted.leader_epoch == self.leader_epoch:
            self.followers.refused()
            self._advance()

    # -- writing --------------------------------------------------------------------------------------

    def append(
        self,
        records: Buffer,
        now_ms: int,
        *,
        leader_epoch: int,
        origin: Origin = _CLIENT,
        acks: int = ALL,
        permit: TransactionPermit | None = None,
    ) -> Commit:
        """Append as the leader of this epoch. Transactional batches need a permit of the same epoch.

        Raises nothing: a refused append is a commit that has failed with the `LogError`.
        """
        commit = Commit(leader_epoch, acks, now_ms, len(records), origin is _CLIENT, permit)
        refusal = self.refusal(commit)
        if refusal is not None:
            commit.fail(refusal)
        else:
            assert self._log is not None
            self.appends.add(commit, records, self._log)
        return commit

    def refusal(self, commit: Commit) -> LogError | None:
        """The reason to refuse any records of this caller now; None if there is none."""
        if commit.leader_epoch != self.leader_epoch or not self.is_leader:
            return self._not_leader_of(commit.leader_epoch)
        if commit.permit is not None and commit.permit.leader_epoch != commit.leader_epoch:
            return self._not_leader_of(commit.permit.leader_epoch)
        if self.is_read_only:
            return ReadOnlyPartition(self.topic)
        log = self._log if self._log is not None else self.log  # opening it creates `followers`
        if self.followers is not None and commit.acks == ALL:
            refusal = self._too_few_in_sync(log)
            if refusal is not None:
                return refusal
        if commit.is_from_client and commit.size_bytes > self.deps.disk.room_bytes:
            return self.deps.disk.refuse(f"{self.topic}-{self.partition}")
        return None

    def write_queued(self) -> None:
        """Write the queued appends now: the log and its producer state are then up to date."""
        self.appends.write_queued()

    def _not_leader_of(self, leader_epoch: int) -> LogError:
        if self._why_not_opened is not None:
            return self._why_not_opened
        return NotLeader(
            f"this broker does not lead {self.topic}-{self.partition} in leader epoch {leader_epoch}; the partition is "
            f"in leader epoch {self.leader_epoch} and led by broker {self.leader_id}"
        )

    def require_in_sync(self) -> None:
        """Raise `NotEnoughReplicas` if too few replicas are in sync for an append with acks=all."""
        refusal = self._too_few_in_sync(self.log)
        if refusal is not None:
            raise refusal

    def _too_few_in_sync(self, log: Log) -> NotEnoughReplicas | None:
        followers, wanted = self.followers, log.config.min_insync_replicas
        if followers is None or followers.may_commit(wanted):
            return None
        return NotEnoughReplicas(f"{self.topic}-{self.partition} has {followers.too_few(wanted)}")

    def commit_up_to(self, last_offset: int, *, leader_epoch: int) -> Commit:
        """The commit of the records up to `last_offset`, which are in the log already.

        It fails when this broker no longer leads in that epoch: other records may have these offsets.
        """
        commit = Commit(leader_epoch)
        commit.last_offset = last_offset
        if leader_epoch != self.leader_epoch or not self.is_leader:
            commit.fail(self._not_leader_of(leader_epoch))
        else:
            self.appends.wait(commit, self.log)
        return commit

    def synced(self) -> Commit:
        """The commit of all records in the log now, done when they are on this broker's disk."""
        log = self.log
        commit = Commit(self.leader_epoch, acks=1)
        commit.last_offset = log.log_end_offset - 1
        self.appends.wait(commit, log)
        if not commit.is_done:
            self.deps.flusher.request(log)
        return commit

    # -- following: see `fetching.followed_partition` -------------------------------------------------

    def require_follower(self, leader_epoch: int) -> None:
        """Raise `LogError` unless this replica follows the leader of this epoch."""
        if self.is_leader or leader_epoch != self.leader_epoch:
            raise self._why_not_opened or NotFollower(
                f"this broker does not follow the leader of {self.topic}-{self.partition} in leader epoch "
                f"{leader_epoch}; the partition is in leader epoch {self.leader_epoch}"
            )

    def truncated(self, high_watermark: int) -> None:
        """The log was truncated; its records below `high_watermark` are committed."""
        fail_all(self.appends.undurable, NotFollower(f"{self.topic}-{self.partition} was truncated"))
        self.high_watermark = high_watermark
        self.log.producers.advance_high_watermark(high_watermark)  # the markers were replayed

    # -- the high watermark ---------------------------------------------------------------------------

    def on_log_advanced(self) -> None:
        """Wake the waiters: more of the log is durable, or the log has failed."""
        log = self._log
        assert log is not None
        if log.failure is not None:
            self.deps.on_disk_failure(log.failure)
            self.appends.fail(log.failure)
            return
        if self.is_leader:
            self._advance()  # before producers are answered: they may read their own writes
        else:
            self.wake_readers()  # a follower fetches more when its own disk has the records
        if self.appends.undurable:
            resolve_below(self.appends.undurable, log.committed_offset)

    def _advance(self) -> None:
        log = self._log
        if log is None or not self.is_leader:
            return
        followers = self.followers
        if followers is None:
            self.advance_high_watermark(log.committed_offset)
            return
        found = followers.high_watermark(
            log.committed_offset, self.deps.clock.monotonic_ms(), log.config.min_insync_replicas
        )
        if found is not None:
            self.advance_high_watermark(found)

    def advance_high_watermark(self, high_watermark: int) -> None:
        if high_watermark <= self.high_watermark:
            return
        log = self._log
        assert log is not None
        self.high_watermark = high_watermark
        if log.producers.unreplicated:
            log.producers.advance_high_watermark(high_watermark)
        if self.appends.uncommitted:
            resolve_below(self.appends.uncommitted, high_watermark)
        if self._readers:
            self._readers.wake()

    def _refuse_if_too_few(self) -> None:
        """Fail the commits that wait for in-sync replicas if there are too few of them now."""
        followers, log = self.followers, self._log
        if followers is None or log is None or not self.appends.uncommitted:
            return
        if not followers.may_commit(log.config.min_insync_replicas):
            error = NotEnoughReplicasAfterAppend(
                f"too few replicas of {self.topic}-{self.partition} are in sync to commit"
            )
            fail_all(self.appends.uncommitted, error)

    # -- reading --------------------------------------------------------------------------------------

    def watch(self, reader: "asyncio.Future[None]", *, is_follower: bool = False) -> None:
        """Resolve `reader` when there are new records to read, or the leader changes.

        A follower reads up to the end of the log, a consumer up to the high watermark.
        """
        (self.end_readers if is_follower else self._readers).add(reader)

    def unwatch(self, reader: "asyncio.Future[None]") -> None:
        self._readers.discard(reader)
        self.end_readers.discard(reader)

    def wake_readers(self) -> None:
        self._readers.wake()
        self.end_readers.wake()

    @property
    def last_stable_offset(self) -> int:
        """Every transaction below it is committed or aborted."""
        unstable = self.log.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    @property
    def knows_end(self) -> bool:
        """Whether the high watermark has reached the start of this leader's epoch (KIP-207).

        Before that, an earlier leader may have shown records beyond it: the end offset would seem to go back.
        """
        return self.followers is None or self.high_watermark >= self.followers.epoch_start

    def check_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """Refuse a client whose leader epoch is older or newer than this replica's (KIP-320)."""
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return ErrorCode.NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH
