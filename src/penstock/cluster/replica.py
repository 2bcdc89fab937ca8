"""One partition on this broker: its log, its part in the cluster, and what of it may be acknowledged and read.

The high watermark is the offset below which records are committed: synced here (unless the topic waives that)
and held by every in-sync replica. Producers wait for it, consumers never see beyond it. A leader works it out from its
own disk and from what its followers ask for; a follower is told by its leader.

Who writes to a replica names the leader epoch in which it decided to, because it may have waited since: for the disk,
for a thread, for another broker. A write of another epoch is refused here, whatever the caller has checked before.

    not held ──> follower <──> leader      by what the metadata says; a new leader epoch begins each time
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from penstock.cluster.commit import ALL, Commit, CommitQueue
from penstock.cluster.in_sync import Followers, WantedSet
from penstock.cluster.metadata.state import NO_LEADER, Partition
from penstock.cluster.replica_errors import (
    NotEnoughReplicas,
    NotEnoughReplicasAfterAppend,
    NotFollower,
    NotLeader,
    PartitionGone,
)
from penstock.cluster.topic_names import is_internal
from penstock.cluster.waiting import WaitingReaders
from penstock.config.topic import TopicConfig
from penstock.observability.clock import Clock
from penstock.observability.completion import Completion
from penstock.observability.offload import InlineOffload, Offload
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.rules import CheckElsewhere
from penstock.storage.checkpoints import PartitionName
from penstock.storage.damage import Damage
from penstock.storage.disk_space import DiskSpace
from penstock.storage.files import Buffer
from penstock.storage.flusher import Flusher
from penstock.storage.log.append import Appender, Checked
from penstock.storage.log.errors import (
    AppendRejected,
    LogCorrupt,
    LogError,
    NoSpace,
    StorageError,
    is_disk_failure,
    is_out_of_space,
)
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock.storage.log.values import Origin
from penstock.storage.log_store import LogStore
from penstock.storage.missing import report
from penstock.storage.transaction_permit import TransactionPermit

_log = logging.getLogger(__name__)

QUEUED_MAX: Final = 256
QUEUED_BYTES_MAX: Final = 16_384
"""So many appends are written at once at most: the loop is held meanwhile. A larger batch is not waited with."""
_NO_EPOCH = -1


class Surroundings:
    """What all replicas of a broker share."""

    __slots__ = (
        "checks",
        "clock",
        "disk",
        "flusher",
        "lag_ms_max",
        "may_join",
        "node_id",
        "on_disk_failure",
        "on_in_sync_change",
        "on_suspicion",
    )

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        flusher: Flusher,
        *,
        checks: Offload | None = None,
        lag_ms_max: Callable[[], int] = lambda: 30_000,
        may_join: Callable[[int, int], bool] = lambda _broker_id, _epoch: True,
        on_in_sync_change: Callable[["Replica"], None] = lambda _replica: None,
        on_suspicion: Callable[["Replica"], None] = lambda _replica: None,
        on_disk_failure: Callable[[Exception], None] = lambda _error: None,
    ) -> None:
        """`checks` is where batches are checked that take long.

        `may_join`: whether a broker that fetches with this epoch is fit to be in sync. The others are called when a
        partition wants another in-sync set, when something in its log may have rotted, and when the disk has failed
        under it, each time that it is noticed.
        """
        self.node_id = node_id
        self.clock = clock
        self.flusher = flusher
        self.checks = checks or InlineOffload()
        self.disk = DiskSpace()
        self.lag_ms_max = lag_ms_max
        self.may_join = may_join
        self.on_in_sync_change = on_in_sync_change
        self.on_suspicion = on_suspicion
        self.on_disk_failure = on_disk_failure


class Replica:
    __slots__ = (
        "_appender",
        "_end_readers",
        "_followers",
        "_log",
        "_open_log",
        "_queued",
        "_readers",
        "_saved_high_watermark",
        "_surroundings",
        "_uncommitted",
        "_undurable",
        "_why_not_opened",
        "bytes_in",
        "bytes_out",
        "high_watermark",
        "is_leader",
        "is_replicated",
        "leader_epoch",
        "leader_id",
        "partition",
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
        surroundings: Surroundings,
        *,
        saved_high_watermark: int | None = None,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.is_leader = False
        self.is_replicated = False
        """Whether other brokers are to hold this partition too."""
        self.leader_id = NO_LEADER
        self.leader_epoch = _NO_EPOCH
        self.high_watermark = 0
        self.bytes_in = 0  # of clients, since the start
        self.bytes_out = 0
        self.state: Partition | None = None
        self._open_log = open_log
        self._surroundings = surroundings
        self._saved_high_watermark = saved_high_watermark
        self._log: Log | None = None
        self._appender: Appender | None = None  # made for the first append
        self._why_not_opened: LogError | None = None
        self._followers: Followers | None = None
        self._queued: list[Commit] = []  # to be written at the end of the turn
        self._uncommitted = CommitQueue()
        self._undurable = CommitQueue()  # which wait for this broker's disk alone
        self._readers = WaitingReaders()
        self._end_readers = WaitingReaders()

    # -- the log --------------------------------------------------------------------------------------

    @property
    def log(self) -> Log:
        """Opened when first asked for: a broker with thousands of idle partitions starts at once.

        Raises `LogError` or `OSError`; `Replicas` asks first, so that whoever holds a leader can rely on it. A log
        that is damaged is not read through again before a restart.
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
            self.high_watermark = self._first_high_watermark(opened)
            opened.producers.advance_high_watermark(self.high_watermark)  # recovery has replayed the markers
            opened.on_durable = self._own_log_advanced
            opened.on_suspicion = self._suspect
            if not self.is_replicated:
                opened.producers.trust()
            if opened.losses:
                _log.error("%s", report(PartitionName(self.topic, self.partition), opened.losses))
            if opened.damaged or opened.producers.unverified_from is not None:
                self._suspect()
            if self.is_leader:
                self._begin_epoch(opened)
        return opened

    def _first_high_watermark(self, opened: Log) -> int:
        """All that a lone replica has is committed. With others, only what was known to be: they may have less."""
        if self.state is None or len(self.state.replicas) == 1:
            return opened.committed_offset
        saved = self._saved_high_watermark or 0
        return max(opened.log_start_offset, min(saved, opened.committed_offset))

    def recovered(self) -> None:
        """What recovery had to leave to a sync is durable now: what was known to be committed is so again."""
        self._set_high_watermark(self._first_high_watermark(self.log))

    @property
    def is_open(self) -> bool:
        return self._log is not None

    def _suspect(self) -> None:
        self._surroundings.on_suspicion(self)

    def repair(self, damage: Damage, batches: Buffer) -> bool:
        """Take another replica's batches for damaged ones, if they are the same. Raises `OSError`."""
        is_repaired = LogRepair(self.log).repair(damage, batches)
        if is_repaired:
            self._surroundings.flusher.sync(self.log)
            self.wake_readers()
        return is_repaired

    async def rebuild_producer_state(self) -> None:
        """Read anew what recovery could not find out about producers, when what it had to pass over is repaired."""
        if not self.is_replicated:
            self.log.producers.trust()
        if await LogRepair(self.log).rebuild_producer_state(now_ms=self._surroundings.clock.now_ms()):
            self.log.producers.advance_high_watermark(self.high_watermark)
            self.wake_readers()

    def configure(self, config: TopicConfig) -> None:
        """Take new settings of the topic. What they allow to commit, or do not any more, is settled at once."""
        log = self._log
        if log is None:
            return
        self.write_queued()  # it was checked by the settings before
        log.configure(config)
        if log.has_unsynced:
            self._surroundings.flusher.request(log)  # `flush.messages` may be 1 now
        self._refuse_if_too_few()
        self._advance()

    def close(self, reason: PartitionGone | NotLeader) -> None:
        """The partition is deleted or handed over: nobody waits for it any more."""
        self._why_not_opened = reason  # opening it would make it anew
        self.is_leader = False
        self.leader_epoch = _NO_EPOCH
        self._fail_commits(self._why_not_opened)
        self.wake_readers()

    # -- its part in the cluster ----------------------------------------------------------------------

    def follow(self, state: Partition) -> None:
        """Take in what the metadata says of the partition; a new epoch makes long polls look again."""
        self.write_queued()
        self.state = state
        self.is_replicated = len(state.replicas) > 1
        if state.leader_epoch != self.leader_epoch:
            self.leader_id = state.leader
            self.leader_epoch = state.leader_epoch
            self.is_leader = state.leader == self._surroundings.node_id
            self._followers = None
            if not self.is_leader:
                self._fail_commits(
                    NotLeader(f"{self.topic}-{self.partition} is led by broker {state.leader}")
                )
            elif self._log is not None:
                self._begin_epoch(self._log)
            self.wake_readers()
        elif self.is_leader and self._log is not None:
            self._follow_followers(self._log, state)

    def _begin_epoch(self, log: Log) -> None:
        log.begin_epoch(self.leader_epoch)
        if self.state is not None:
            self._follow_followers(log, self.state)

    def _follow_followers(self, log: Log, state: Partition) -> None:
        now_ms = self._surroundings.clock.monotonic_ms()
        if self._followers is not None:
            self._followers.follow(state, now_ms)
            self._refuse_if_too_few()
        elif len(state.replicas) > 1:
            self._followers = Followers(
                self._surroundings.node_id,
                state,
                epoch_start=log.epochs.entries[-1].start_offset,
                now_ms=now_ms,
                lag_ms_max=self._surroundings.lag_ms_max(),
                may_join=self._surroundings.may_join,
            )
        self._advance()

    def follower_fetched(self, broker_id: int, broker_epoch: int, offset: int) -> ErrorCode:
        """A follower asks for what begins at `offset`. All below is on its disk."""
        followers = self._followers
        if followers is None or broker_id not in followers:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # it has heard of its assignment before this leader has
        followers.fetched(
            broker_id,
            broker_epoch,
            offset,
            self.log.log_end_offset,
            self._surroundings.clock.monotonic_ms(),
        )
        self._advance()
        if broker_id not in followers.in_sync or offset < self.high_watermark:
            self._surroundings.on_in_sync_change(self)
        return ErrorCode.NONE

    def in_sync_followers_at(self, offset: int) -> list[int]:
        """Who else could serve a reader that wants `offset`, the furthest first."""
        return [] if self._followers is None else self._followers.reaching(offset)

    def wanted_in_sync(self) -> WantedSet | None:
        """The in-sync set to ask the controller for, if the present one is wrong."""
        if self._followers is None or self._log is None:
            return None
        now_ms = self._surroundings.clock.monotonic_ms()
        return self._followers.wanted(self._log.log_end_offset, self.high_watermark, now_ms)

    def asked_in_sync(self, wanted: WantedSet) -> None:
        if self._followers is not None:
            self._followers.asked(wanted)

    def refused_in_sync(self, wanted: WantedSet) -> None:
        """The controller said no to what was asked in this epoch. Not for an answer that did not come."""
        if self._followers is not None and wanted.leader_epoch == self.leader_epoch:
            self._followers.refused()
            self._advance()

    # -- writing --------------------------------------------------------------------------------------

    def append(
        self,
        records: Buffer,
        now_ms: int,
        *,
        leader_epoch: int,
        origin: Origin = Origin.CLIENT,
        acks: int = ALL,
        permit: TransactionPermit | None = None,
    ) -> Commit:
        """Append as the leader of this epoch. Transactional batches need a permit of the same epoch.

        Nothing is raised: a refused append is a commit that has failed, with the `LogError`.
        """
        commit = Commit(leader_epoch, acks, now_ms, len(records), origin is Origin.CLIENT, permit)
        self._admit(commit, records)
        return commit

    def _admit(self, commit: Commit, records: Buffer, checked: Checked | None = None) -> bool:
        """Give the commit its place in the order of appends, or refuse it; False if it is to be checked before.

        When the disk is idle the records are written at once. While it is busy they must wait for the next sync
        anyway: what comes within a turn of the loop is written at the end of the turn, with one call.
        """
        refusal = self._refusal(commit)
        if refusal is not None:
            commit.fail(refusal)
            return True
        log = self._log
        assert log is not None
        appender = self._appender
        if appender is None:
            appender = self._appender = Appender(log)
        try:
            commit.batches = appender.prepare(
                records, commit.now_ms, is_from_client=commit.is_from_client, checked=checked
            )
        except CheckElsewhere:
            self._check_on_thread(commit, records, appender)
            return False
        except AppendRejected as error:
            commit.fail(error)
            return True
        self._surroundings.disk.room_bytes -= commit.size_bytes
        queued = self._queued
        if not (queued or log.is_journaling or log.syncing is not None):
            self._write([commit])
            return True
        if not queued:
            asyncio.get_running_loop().call_soon(self.write_queued)
        queued.append(commit)
        if len(queued) >= QUEUED_MAX or commit.size_bytes > QUEUED_BYTES_MAX:
            self.write_queued()
        return True

    def _refusal(self, commit: Commit) -> LogError | None:
        """Why no records are taken from this caller now, whatever they are."""
        if commit.leader_epoch != self.leader_epoch or not self.is_leader:
            return self._not_leader_of(commit.leader_epoch)
        if commit.permit is not None and commit.permit.leader_epoch != commit.leader_epoch:
            return self._not_leader_of(commit.permit.leader_epoch)
        log = self._log if self._log is not None else self.log  # by which the followers are known
        if self._followers is not None and commit.acks == ALL:
            refusal = self._too_few_in_sync(log)
            if refusal is not None:
                return refusal
        if commit.is_from_client and commit.size_bytes > self._surroundings.disk.room_bytes:
            return self._no_space()
        return None

    def _check_on_thread(self, commit: Commit, records: Buffer, appender: Appender) -> None:
        """Check what takes long where it holds nobody up; `commit.checking` is done when it has its place."""
        if commit.checking is None:
            commit.checking = Completion()
        check = appender.checking(records, commit.now_ms)
        self._surroundings.checks.call(check, partial(self._checked, commit, records))

    def _checked(
        self, commit: Commit, records: Buffer, checked: Checked, error: BaseException | None
    ) -> None:
        if isinstance(error, AppendRejected):
            commit.fail(error)
        elif error is not None:
            _log.error("Cannot check a batch for %s-%d", self.topic, self.partition, exc_info=error)
            commit.fail(StorageError(f"the check of the batch failed: {error}"))
        elif not self._admit(commit, records, checked):
            return  # the topic's settings have changed meanwhile
        assert commit.checking is not None
        commit.checking.resolve(None)

    def write_queued(self) -> None:
        """Write now what waits for the end of the turn: the log is then up to date, and what it knows of producers."""
        queued = self._queued
        if queued:
            self._queued = []
            self._write(queued)

    def _write(self, commits: list[Commit]) -> None:
        log, appender = self.log, self._appender
        assert appender is not None, "it has prepared them"
        why_not: LogError | None = None
        try:
            appender.append_each(commits, leader_epoch=self.leader_epoch, now_ms=commits[-1].now_ms)
        except Exception as error:  # noqa: BLE001  nobody above would answer those who wait
            _log.exception("Cannot append to %s-%d", self.topic, self.partition)
            why_not = StorageError(f"the append failed: {error}")
        self._surroundings.flusher.request(log)
        settled: list[tuple[Commit, LogError | None]] = []
        acks: int | None = None
        for commit in commits:
            appended = commit.appended
            if appended is None:
                self._surroundings.disk.room_bytes += commit.size_bytes
                settled.append((commit, commit.refusal or why_not))
                continue
            self.bytes_in += commit.size_bytes
            if commit.acks != acks:  # once for nearly every group
                acks = commit.acks
                safe_offset, waiting = self._safety(acks, log)
            commit.last_offset = appended.last_offset
            if commit.last_offset < safe_offset:
                settled.append((commit, None))
            elif log.failure is not None:
                settled.append((commit, log.failure))
            else:
                waiting.append(commit)
        if log.committed_offset > self.high_watermark:  # the topic waives the wait for the disk
            self._own_log_advanced()
        if self._end_readers:
            self._end_readers.wake()
        for commit, failure in settled:  # last: what they call may append in turn
            if failure is None:
                commit.resolve(None)
                continue
            if isinstance(failure, StorageError):
                self._refused(failure)
            commit.fail(failure)

    def _safety(self, acks: int, log: Log) -> tuple[int, CommitQueue]:
        """The offset below which all is as safe as `acks` ask for, and where commits wait that are not below it."""
        if acks == ALL:
            return self.high_watermark, self._uncommitted
        return log.log_end_offset if acks == 0 else log.committed_offset, self._undurable

    def _wait(self, commit: Commit, log: Log) -> None:
        safe_offset, waiting = self._safety(commit.acks, log)
        if commit.last_offset < safe_offset:
            commit.resolve(None)
        elif log.failure is not None:
            commit.fail(log.failure)
        else:
            waiting.append(commit)

    def _not_leader_of(self, leader_epoch: int) -> LogError:
        if self._why_not_opened is not None:
            return self._why_not_opened
        return NotLeader(
            f"this broker does not lead {self.topic}-{self.partition} in leader epoch {leader_epoch}; the partition is "
            f"in leader epoch {self.leader_epoch} and led by broker {self.leader_id}"
        )

    def require_in_sync(self) -> None:
        """Raises `NotEnoughReplicas` where a leader has too few in-sync replicas to append what all must have."""
        refusal = self._too_few_in_sync(self.log)
        if refusal is not None:
            raise refusal

    def _too_few_in_sync(self, log: Log) -> NotEnoughReplicas | None:
        followers, wanted = self._followers, log.config.min_insync_replicas
        if followers is None or followers.may_commit(wanted):
            return None
        eligible = () if self.state is None else self.state.elr
        return NotEnoughReplicas(
            f"{self.topic}-{self.partition} has {len(followers.in_sync)} in-sync replica(s), "
            f"min.insync.replicas is {wanted}, eligible leader replicas: {', '.join(map(str, eligible)) or 'none'}"
        )

    def commit_up_to(self, last_offset: int, *, leader_epoch: int) -> Commit:
        """The commit of what is in the log up to `last_offset`, whoever has appended it.

        It fails when this broker does not lead in that epoch any more: other records may have these offsets.
        """
        commit = Commit(leader_epoch)
        commit.last_offset = last_offset
        if leader_epoch != self.leader_epoch or not self.is_leader:
            commit.fail(self._not_leader_of(leader_epoch))
        else:
            self._wait(commit, self.log)
        return commit

    def synced(self) -> Commit:
        """The commit of all that the log has now, done when it is on this broker's disk."""
        log = self.log
        commit = Commit(self.leader_epoch, acks=1)
        commit.last_offset = log.log_end_offset - 1
        self._wait(commit, log)
        if not commit.is_done:
            self._surroundings.flusher.request(log)
        return commit

    # -- following ------------------------------------------------------------------------------------

    def append_fetched(self, records: Buffer, now_ms: int, *, leader_epoch: int) -> Commit:
        """Store what the leader of this epoch gave, as its follower; the commit is done when it is on the disk."""
        commit = Commit(leader_epoch, acks=1, size_bytes=len(records))
        try:
            self._require_follower(leader_epoch)
            if len(records) > self._surroundings.disk.room_bytes and not is_internal(self.topic):
                raise self._no_space()
            appended = self.log.append_replicated(records, now_ms=now_ms, leader_epoch=leader_epoch)
        except LogError as error:
            if isinstance(error, StorageError):
                self._refused(error)
            commit.fail(error)
            return commit
        if appended is None:
            commit.resolve(None)
            return commit
        commit.appended = appended
        commit.last_offset = appended.last_offset
        self._surroundings.flusher.request(self.log)
        self._surroundings.disk.room_bytes -= len(records)
        self._wait(commit, self.log)
        return commit

    @property
    def has_room(self) -> bool:
        """Whether the disk takes more records of this partition, as far as is known."""
        return self._surroundings.disk.room_bytes > 0 or is_internal(self.topic)

    def _no_space(self) -> NoSpace:
        return self._surroundings.disk.refuse(f"{self.topic}-{self.partition}")

    def _refused(self, error: StorageError) -> None:
        if is_disk_failure(error):
            self._surroundings.on_disk_failure(error)
        elif is_out_of_space(error):
            self._surroundings.disk.refused(self._surroundings.clock.monotonic_ms())

    def follow_offsets(self, high_watermark: int, log_start_offset: int, *, leader_epoch: int) -> None:
        """Take over the high watermark and the log start of the leader of this epoch.

        The high watermark only as far as the records are here and synced, the start only as far as that. Raises
        `LogError`.
        """
        self._require_follower(leader_epoch)
        self._set_high_watermark(min(high_watermark, self.log.committed_offset))
        start = min(log_start_offset, self.high_watermark)
        if start > self.log.log_start_offset:
            self.log.advance_log_start(start)

    async def truncate(self, store: LogStore, offset: int, *, leader_epoch: int) -> None:
        """Drop the records from `offset` on, which the leader of this epoch does not have. Raises `LogError`.

        Waits for the disk. Whoever leads or follows another leader by then keeps its records.
        """
        await self._allow_truncation(store, offset, leader_epoch)
        self._truncate_to(offset)

    async def _allow_truncation(self, store: LogStore, offset: int, leader_epoch: int) -> None:
        self._require_follower(leader_epoch)
        await store.allow_truncation(self.log, offset)
        self._require_follower(leader_epoch)

    def _truncate_to(self, offset: int) -> None:
        end_offset = self.log.truncate_to(offset, now_ms=self._surroundings.clock.now_ms())
        # After an unclean election even records that had been committed may be gone.
        self._truncated(min(self.high_watermark, end_offset))

    async def rebuild(self, store: LogStore, *, leader_epoch: int) -> None:
        """Drop all records from the first missing one on: the leader of this epoch has them. Raises `LogError`."""
        missing = self.log.first_missing_offset
        if missing is None:
            return
        await self._allow_truncation(store, missing, leader_epoch)
        if self.log.first_missing_offset == missing:  # else they were repaired meanwhile
            self._truncate_to(missing)

    async def start_over(self, store: LogStore, offset: int, *, leader_epoch: int) -> None:
        """Drop all records and go on at `offset`, where the leader of this epoch has its first batch.

        Waits for the disk, and raises `LogError`, as `truncate` does.
        """
        await self._allow_truncation(store, offset, leader_epoch)
        self.log.truncate_fully_and_start_at(offset)
        self._truncated(offset)

    def _truncated(self, high_watermark: int) -> None:
        self._undurable.fail(NotFollower(f"{self.topic}-{self.partition} was truncated"))
        self.high_watermark = high_watermark
        self.log.producers.advance_high_watermark(high_watermark)  # the markers were replayed

    def _require_follower(self, leader_epoch: int) -> None:
        if self.is_leader or leader_epoch != self.leader_epoch:
            raise self._why_not_opened or NotFollower(
                f"this broker does not follow the leader of {self.topic}-{self.partition} in leader epoch "
                f"{leader_epoch} any more; the partition is in leader epoch {self.leader_epoch}"
            )

    # -- the high watermark ---------------------------------------------------------------------------

    def _own_log_advanced(self) -> None:
        """The log became durable further, or it failed: wake whoever waited for that."""
        log = self.log
        if log.failure is not None:
            self._surroundings.on_disk_failure(log.failure)
            self._fail_commits(log.failure)
            return
        if self.is_leader:
            self._advance()  # before those are answered who may read what they have written
        else:
            self.wake_readers()  # a follower waits for its own disk before it asks for more
        self._undurable.reached(log.committed_offset)

    def _advance(self) -> None:
        log = self._log
        if log is None or not self.is_leader:
            return
        followers = self._followers
        if followers is None:
            self._set_high_watermark(log.committed_offset)
            return
        found = followers.high_watermark(
            log.committed_offset, self._surroundings.clock.monotonic_ms(), log.config.min_insync_replicas
        )
        if found is not None:
            self._set_high_watermark(found)

    def _set_high_watermark(self, high_watermark: int) -> None:
        if high_watermark <= self.high_watermark:
            return
        self.high_watermark = high_watermark
        self.log.producers.advance_high_watermark(high_watermark)
        self._uncommitted.reached(high_watermark)
        self._readers.wake()

    def _refuse_if_too_few(self) -> None:
        """Whoever waits for all in-sync replicas is told at once that they have become too few."""
        followers, log = self._followers, self._log
        if followers is None or log is None or not self._uncommitted:
            return
        if not followers.may_commit(log.config.min_insync_replicas):
            error = NotEnoughReplicasAfterAppend(
                f"too few replicas of {self.topic}-{self.partition} are in sync to commit"
            )
            self._uncommitted.fail(error)

    def _fail_commits(self, failure: LogError) -> None:
        queued, self._queued = self._queued, []
        for commit in queued:
            commit.fail(failure)
        self._uncommitted.fail(failure)
        self._undurable.fail(failure)

    # -- reading --------------------------------------------------------------------------------------

    def watch(self, reader: "asyncio.Future[None]", *, is_follower: bool = False) -> None:
        """Resolve `reader` when there is something new to read or the partition changes hands.

        A follower reads up to the end of the log, everybody else up to the high watermark.
        """
        (self._end_readers if is_follower else self._readers).add(reader)

    def unwatch(self, reader: "asyncio.Future[None]") -> None:
        self._readers.discard(reader)
        self._end_readers.discard(reader)

    def wake_readers(self) -> None:
        self._readers.wake()
        self._end_readers.wake()

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided."""
        unstable = self.log.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    @property
    def knows_end(self) -> bool:
        """Whether the high watermark has reached the start of this leader's epoch (KIP-207).

        Before, records that an earlier leader has shown may lie beyond it: to tell it would be to go back.
        """
        return self._followers is None or self.high_watermark >= self._followers.epoch_start

    def check_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """KIP-320: refuse a client whose idea of the leadership is older or newer than ours."""
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return ErrorCode.NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH
