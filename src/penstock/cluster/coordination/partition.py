"""One partition of a coordinator's topic while this broker leads it: its log, and the state that the log adds up to.

What a coordinator decides it hands in here as a `Change`: the records, and what makes the change in its state. Whatever
can be refused is refused before the state is changed. The client is answered when the records are committed; what the
coordinator knows it has replayed from here. So the state survives a crash, and moves to another broker with the
leadership, by no other mechanism. State that is ahead of a log that does not commit it is worth nothing: a change that
was taken and then fails ends the partition, and whoever owns it loads it anew.

Changes gather in one batch while an earlier one is on its way to the disk: the next sync would serve them all anyway,
and a thousand commits that arrive together cost one append. The records of one change are in one batch, so that no
crash leaves half of it; if they are too many for one they are appended together.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import msgspec

from penstock.cluster.commit import Commit
from penstock.cluster.coordination.change import Change
from penstock.cluster.coordination.errors import CoordinatorError, told_of
from penstock.cluster.coordination.loading import Gap, PartitionLoad, Replayed
from penstock.cluster.coordination.pending_batch import RECORD_OVERHEAD_BYTES, PendingBatch, size_of
from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotEnoughReplicas, NotEnoughReplicasAfterAppend
from penstock.observability.clock import Clock
from penstock.observability.completion import Completion
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.builder import NewRecord
from penstock.storage.log.errors import LogError
from penstock.storage.log.values import Origin
from penstock.storage.transaction_permit import TransactionPermit

_COMMIT_RETRY_MS = 100


S = TypeVar("S", bound=Replayed)


class InTransaction(msgspec.Struct, frozen=True):
    """The transaction that records belong to, and what permits them to be appended."""

    producer_id: int
    producer_epoch: int
    permit: TransactionPermit


def _future_of(written: Completion[None]) -> "asyncio.Future[None]":
    """For those who wait more than once, or not at all."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.add_done_callback(_look_at)

    def settle(done: Completion[None]) -> None:
        if future.done():
            return
        if done.error is None:
            future.set_result(None)
        else:
            future.set_exception(done.error)

    written.then(settle)
    return future


def _look_at(future: "asyncio.Future[None]") -> None:
    """Its client may be gone: asyncio must not report the failure as overlooked."""
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
        timeout_ms: int | None = None,
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
        self._timeout_ms = timeout_ms
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
        """What an earlier leader left behind counts once it is held by all, however long too few are in sync."""
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
        """Take a change: its records into the next batch, then make it in the state.

        The completion is resolved when the records are committed, and fails with `CoordinatorError`. Raises that when
        this broker no longer leads, or when a record is larger than the topic allows; then nothing is written and
        nothing is changed.
        """
        assert change.records, "there is something to write"
        size_bytes_max = self._size_bytes_max
        size_bytes = self._checked_size(change.records, size_bytes_max)
        batch = self._open
        if batch is None or batch.size_bytes + size_bytes > size_bytes_max:
            batch = self._next_batch()
        elif not self.leads:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        batch.add(change.records, size_bytes_max)
        written = batch.wait()
        change.apply()
        return written

    def _checked_size(self, records: Sequence[NewRecord], size_bytes_max: int) -> int:
        """How much room records need at most. Raises `CoordinatorError` when one is too large by itself."""
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
        self._make_way()
        self._open = PendingBatch(self._timeout_ms)
        if not self._in_flight:
            asyncio.get_running_loop().call_soon(self._flush)
        return self._open

    def _make_way(self) -> None:
        """Append what came before. Raises `CoordinatorError` when this broker no longer leads."""
        while self._open is not None:  # whoever is told that it is committed may write again
            self._flush()
        if not self.leads:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)

    @property
    def leads(self) -> bool:
        """Whether this broker leads the partition, in the epoch in which the state was loaded."""
        replica = self.replica
        return not self._is_ended and replica.is_leader and replica.leader_epoch == self.leader_epoch

    def require_in_sync(self) -> None:
        """Raises `CoordinatorError` when the log would refuse any write now, because too few replicas are in sync.

        A write that the log refuses has the partition loaded again. This is for those who do better to wait.
        """
        try:
            self.replica.require_in_sync()
        except NotEnoughReplicas as error:
            raise CoordinatorError(told_of(error.code), str(error)) from error

    @property
    def _size_bytes_max(self) -> int:
        return self.replica.log.config.max_message_bytes

    @property
    def payload_bytes_max(self) -> int:
        """How long a record's key and value may be together."""
        return self._size_bytes_max - RECORD_OVERHEAD_BYTES

    def settled(self) -> Completion[None] | None:
        """What to wait for before the present state may be shown; None when all of it is committed.

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
        """Like `submit`, for records that count once `end_transaction` commits them: in batches of their own.

        They are appended at once, all or none, and only what the log has taken is changed.
        """
        size_bytes_max = self._size_bytes_max
        self._checked_size(change.records, size_bytes_max)
        batch = PendingBatch()
        batch.add(change.records, size_bytes_max)
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
            raise CoordinatorError(told_of(error.code), str(error)) from error

    def end_transaction(
        self, marker_batch: bytes, producer_id: int, *, is_commit: bool
    ) -> "asyncio.Future[None]":
        """Append the marker of a producer's transaction. Raises `LogError`, and then nothing is changed."""
        end = partial(self.state.end_transaction, producer_id, is_commit=is_commit)
        return _future_of(self._append_now(bytearray(marker_batch), end))

    def _append_now(
        self, records: bytearray, apply: Callable[[], None], permit: TransactionPermit | None = None
    ) -> Completion[None]:
        self._make_way()
        commit = self._append_to_log(records, permit)
        self.replica.write_queued()  # the state is changed in the order of the log, and not for what the log refuses
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

    def _when_committed(self, batch: PendingBatch, done: Completion[None]) -> None:
        if batch not in self._in_flight:
            return  # `end` has failed it
        self._in_flight.remove(batch)
        if done.error is not None:
            self._fail(batch, done.error)
            return
        if not self._in_flight:
            self._flush()
        batch.succeed()

    def _fail(self, batch: PendingBatch, error: BaseException) -> None:
        if not self._is_ended:
            self._on_failure(self)
        batch.fail(told_of(error.code if isinstance(error, LogError) else ErrorCode.UNKNOWN_SERVER_ERROR))

    def end(self) -> None:
        """Give up, because another broker leads or the state cannot be trusted; whoever waits is told so."""
        self._is_ended = True
        self.is_loaded = False
        if self._open is not None:
            self._in_flight.append(self._open)
            self._open = None
        while self._in_flight:
            self._in_flight.popleft().fail(ErrorCode.NOT_COORDINATOR)
