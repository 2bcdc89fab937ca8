"""One partition of a coordinator's topic while this broker leads it: its log, and the state that the log adds up to.

A coordinator hands in each decision as a `Change`: the records, and the function that changes its state. A change is
refused before the state is changed, or not at all. The client is answered when the records are committed. The state is
a replay of the log, so it survives a crash and moves to another broker with the leadership. State that is ahead of its
log is worthless: if an accepted change fails, the partition ends, and its owner loads it again.

Changes are combined into one batch while an earlier batch is in flight: a thousand commits that arrive together cost
one append. The records of one change are in one batch, so that no crash leaves half of it; if they do not fit into one
batch, their batches are appended together.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import msgspec

from penstock.cluster.commit import Commit
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.deadlines import Deadlines
from penstock.cluster.coordination.errors import CoordinatorError, client_error
from penstock.cluster.coordination.loading import Gap, PartitionLoad, Replayed
from penstock.cluster.coordination.pending_batch import RECORD_OVERHEAD_BYTES, PendingBatch, size_of
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotEnoughReplicas, NotEnoughReplicasAfterAppend
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import NewRecord
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Completion
from penstock.storage.errors import LogError
from penstock.storage.log.values import Origin
from penstock.storage.producers.transaction_permit import TransactionPermit

_COMMIT_RETRY_MS = 100
STALL_CHECKS = 10
"""So many checks in a row must find nothing committed before a write times out."""

S = TypeVar("S", bound=Replayed)


class InTransaction(msgspec.Struct, frozen=True):
    """The transaction of records, and the permit to append them."""

    producer_id: int
    producer_epoch: int
    permit: TransactionPermit


def _future_of(written: Completion[None]) -> "asyncio.Future[None]":
    """A future, for callers that wait more than once, or not at all."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.add_done_callback(_ignore_failure)

    def pass_on(done: Completion[None]) -> None:
        if future.done():
            return
        if done.error is None:
            future.set_result(None)
        else:
            future.set_exception(done.error)

    written.then(pass_on)
    return future


def _ignore_failure(future: "asyncio.Future[None]") -> None:
    """Keep asyncio from reporting a failure that no client waits for any more."""
    if not future.cancelled():
        future.exception()


class CoordinatorPartition(Generic[S]):
    """`state` is complete once `load` has returned, and is thrown away with `end`."""

    def __init__(
        self,
        replica: Replica,
        state: S,
        clock: Clock,
        *,
        codec: Codec = Codec.NONE,
        stall_checks: "StallChecks[S] | None" = None,
        on_failure: Callable[["CoordinatorPartition[S]"], None] = lambda _: None,
    ) -> None:
        self.replica = replica
        self.number = replica.partition
        self.leader_epoch = replica.leader_epoch
        self.state = state
        self.is_loaded = False
        self.gaps: list[Gap] = []
        """Damaged records that the state lacks."""
        self._is_ended = False
        self._clock = clock
        self._codec = codec
        self._stall_checks = stall_checks
        self._checks_without_commit = 0
        self._on_failure = on_failure
        self._open: PendingBatch | None = None
        self._in_flight: deque[PendingBatch] = deque()  # appended, in the order in which they get committed

    # -- reading --------------------------------------------------------------------------------------

    async def load(self, turn: asyncio.Semaphore) -> None:
        """Replay the log, in turn with others. Raises `LogError` or `CorruptRecords`."""
        log = self.replica.log
        end_offset = log.log_end_offset
        loading = PartitionLoad(self.replica, self.state, self._clock)
        await loading.run(turn, end_offset)
        self.gaps = loading.gaps
        if end_offset > log.log_start_offset:
            await self._until_committed(end_offset - 1)
        self.is_loaded = not self._is_ended

    async def _until_committed(self, last_offset: int) -> None:
        """Wait until the records of earlier leaders are committed, however long too few replicas are in sync."""
        while True:
            try:
                await self.replica.commit_up_to(last_offset, leader_epoch=self.leader_epoch)
            except NotEnoughReplicasAfterAppend:
                await self._clock.sleep(_COMMIT_RETRY_MS)
            else:
                return

    # -- writing --------------------------------------------------------------------------------------

    def write(self, change: Change) -> "asyncio.Future[None]":
        """Like `submit`, with a future."""
        return _future_of(self.submit(change))

    def submit(self, change: Change) -> Completion[None]:
        """Add the records of a change to the next batch, then make the change in the state.

        The completion is resolved when the records are committed, and fails with `CoordinatorError`. Raises that when
        this broker no longer leads, or when a record is larger than the topic allows; then nothing is written or
        changed.
        """
        assert change.records, "a change has records"
        size_bytes_max = self._size_bytes_max
        size_bytes = self._checked_size(change.records, size_bytes_max)
        batch = self._open
        if batch is None or batch.size_bytes + size_bytes > size_bytes_max:
            batch = self._next_batch()
        elif not self.leads:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        batch.add(change.records, size_bytes, size_bytes_max)
        written = batch.wait()
        change.apply()
        return written

    def _checked_size(self, records: Sequence[NewRecord], size_bytes_max: int) -> int:
        """The maximum size of the records. Raises `CoordinatorError` when one of them is too large."""
        size_bytes = 0
        for record in records:
            size = size_of(record)
            if size > size_bytes_max:
                raise CoordinatorError(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"This needs a record of {size} bytes, and {self.replica.topic} takes {size_bytes_max} "
                    "(max.message.bytes).",
                )
            size_bytes += size
        return size_bytes

    def _next_batch(self) -> PendingBatch:
        self._flush_all()
        self._open = PendingBatch()
        if not self._in_flight:
            asyncio.get_running_loop().call_soon(self._flush)
        return self._open

    def _flush_all(self) -> None:
        """Append all earlier changes. Raises `CoordinatorError` when this broker no longer leads."""
        while self._open is not None:  # the callbacks of a commit may write again
            self._flush()
        if not self.leads:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)

    @property
    def leads(self) -> bool:
        """Whether this broker leads the partition, in the epoch in which the state was loaded."""
        replica = self.replica
        return not self._is_ended and replica.is_leader and replica.leader_epoch == self.leader_epoch

    def require_in_sync(self) -> None:
        """Raise `CoordinatorError` if the log would refuse a write now, because too few replicas are in sync.

        A refused write has the partition loaded again. Callers that can wait check this first.
        """
        try:
            self.replica.require_in_sync()
        except NotEnoughReplicas as error:
            raise CoordinatorError(client_error(error.code), str(error)) from error

    @property
    def _size_bytes_max(self) -> int:
        return self.replica.log.config.max_message_bytes

    @property
    def payload_bytes_max(self) -> int:
        """The maximum length of a record's key and value together."""
        return self._size_bytes_max - RECORD_OVERHEAD_BYTES

    def pending_commit(self) -> Completion[None] | None:
        """The commit to wait for before the present state may be shown; None when all of it is committed.

        It fails with `CoordinatorError`, at once when this broker no longer leads.
        """
        if not self.leads:
            refused: Completion[None] = Completion()
            refused.fail(CoordinatorError(ErrorCode.NOT_COORDINATOR))
            return refused
        if self._open is not None:
            return self._open.wait()
        return self._in_flight[-1].wait() if self._in_flight else None

    def write_in_transaction(self, change: Change, transaction: InTransaction) -> Completion[None]:
        """Like `submit`, for records that count once `end_transaction` commits them: in separate batches.

        They are appended at once, all or none, and the state changes only if the log has accepted them.
        """
        size_bytes_max = self._size_bytes_max
        size_bytes = self._checked_size(change.records, size_bytes_max)
        batch = PendingBatch()
        batch.add(change.records, size_bytes, size_bytes_max)
        try:
            return self._append_now(
                batch.build(
                    self._codec,
                    size_bytes_max,
                    producer_id=transaction.producer_id,
                    producer_epoch=transaction.producer_epoch,
                ),
                change.apply,
                transaction.permit,
            )
        except LogError as error:
            raise CoordinatorError(client_error(error.code), str(error)) from error

    def end_transaction(
        self, marker_batch: bytes, producer_id: int, *, is_commit: bool
    ) -> "asyncio.Future[None]":
        """Append the marker of a producer's transaction. Raises `LogError`, and then nothing is changed."""
        end = partial(self.state.end_transaction, producer_id, is_commit=is_commit)
        return _future_of(self._append_now(bytearray(marker_batch), end))

    def _append_now(
        self, records: bytearray, apply: Callable[[], None], permit: TransactionPermit | None = None
    ) -> Completion[None]:
        self._flush_all()
        commit = self._append_to_log(records, permit)
        self.replica.write_queued()  # the state changes in the order of the log, and not for refused records
        commit.raise_if_refused()
        apply()
        batch = PendingBatch()
        written = batch.wait()
        self._wait_for(commit, batch)
        return written

    def _flush(self) -> None:
        batch, self._open = self._open, None
        if batch is None:
            return
        self._wait_for(self._append_to_log(batch.build(self._codec, self._size_bytes_max)), batch)

    def _append_to_log(self, records: bytearray, permit: TransactionPermit | None = None) -> Commit:
        return self.replica.append(
            records,
            self._clock.now_ms(),
            leader_epoch=self.leader_epoch,
            origin=Origin.COORDINATOR,
            permit=permit,
        )

    def _wait_for(self, commit: Commit, batch: PendingBatch) -> None:
        self._in_flight.append(batch)
        commit.then(partial(self._when_committed, batch))
        if self._stall_checks is not None and self._in_flight:
            self._stall_checks.begin(self)

    def fail_if_stalled(self) -> bool:
        """Fail all waiters if the log has committed nothing for many checks. Returns whether to check again."""
        self._checks_without_commit += 1
        if self._checks_without_commit >= STALL_CHECKS:
            self._checks_without_commit = 0
            for batch in (*self._in_flight, *([] if self._open is None else [self._open])):
                batch.fail(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return len(self._in_flight) > 0

    def _when_committed(self, batch: PendingBatch, done: Completion[None]) -> None:
        if batch not in self._in_flight:
            return  # `end` has failed it
        self._in_flight.remove(batch)
        self._checks_without_commit = 0
        if done.error is not None:
            self._fail(batch, done.error)
            return
        if not self._in_flight:
            self._flush()
        batch.succeed()

    def _fail(self, batch: PendingBatch, error: BaseException) -> None:
        if not self._is_ended:
            self._on_failure(self)
        batch.fail(
            client_error(error.code if isinstance(error, LogError) else ErrorCode.UNKNOWN_SERVER_ERROR)
        )

    def end(self) -> None:
        """Fail all waiters: another broker leads, or the state cannot be trusted."""
        self._is_ended = True
        self.is_loaded = False
        if self._open is not None:
            self._in_flight.append(self._open)
            self._open = None
        while self._in_flight:
            self._in_flight.popleft().fail(ErrorCode.NOT_COORDINATOR)


class StallChecks(Generic[S]):
    """The write timeout of a coordinator: fails writes to a partition whose log commits nothing for that long.

    The time is divided into checks, each in a later turn of the event loop, and any commit restarts it. Under load
    one turn may take longer than the whole timeout. The commits that became ready meanwhile are handled before the
    next check, so a broker that is merely slow refuses nothing.
    """

    def __init__(self, clock: Clock, timeout_ms: int) -> None:
        self._clock = clock
        self._interval_ms = timeout_ms / STALL_CHECKS
        self._deadlines: Deadlines[CoordinatorPartition[S]] = Deadlines(clock, self._check)

    def begin(self, partition: CoordinatorPartition[S]) -> None:
        self._deadlines.wake_by(partition, self._clock.monotonic_ms() + self._interval_ms)

    def _check(self, partition: CoordinatorPartition[S]) -> float:
        is_waiting = partition.fail_if_stalled()
        return self._clock.monotonic_ms() + self._interval_ms if is_waiting else math.inf

    def stop(self) -> None:
        self._deadlines.stop()
