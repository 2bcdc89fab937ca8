"""One partition of a coordinator's topic while this broker leads it: its log, and the state that the log adds up to.

What a coordinator decides it applies to its state, writes here, and answers when that is committed; what it knows it
has replayed from here. So the state survives a crash, and moves to another broker with the leadership, by no other
mechanism. State that is ahead of a log that refuses it is worth nothing: the first write that fails ends the partition,
and whoever owns it loads it anew.

Writes gather in one batch while an earlier one is on its way to the disk: the next sync would serve them all anyway,
and a thousand commits that arrive together cost one append.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

import msgspec

from penstock.cluster.replica import Replica
from penstock.cluster.replica_errors import NotEnoughReplicasAfterAppend
from penstock.observability.clock import Clock
from penstock.observability.completion import Completion
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import BatchHeader, iter_batches
from penstock.protocol.records.builder import BatchBuilder, NewRecord
from penstock.protocol.records.control import ControlType, control_type
from penstock.protocol.records.record import Record, iter_records
from penstock.protocol.wire import Buffer
from penstock.storage.log_errors import LogError, OffsetOutOfRange
from penstock.storage.log_values import Appended, Origin
from penstock.storage.transaction_permit import TransactionPermit

_READ_BYTES = 64 * 1024  # what is replayed, in some 6 ms, before others get their turn
_COMMIT_RETRY_MS = 100
_RECORD_OVERHEAD_BYTES = 96  # the record's own lengths, and the batch header of one that stands alone


class Replayed(Protocol):
    """State that a log adds up to."""

    def replay(self, record: Record, producer_id: int) -> None:
        """Take in one record; `producer_id` is -1 unless it belongs to a transaction."""
        ...

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None: ...


S = TypeVar("S", bound=Replayed)


class CoordinatorError(Exception):
    """A write was not committed; `code` is what a client is told."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.code = code


class InTransaction(msgspec.Struct, frozen=True):
    """The transaction that records belong to, and what permits them to be appended."""

    producer_id: int
    producer_epoch: int
    permit: TransactionPermit


class _Batch:
    """What was written together, and who waits until it is committed."""

    __slots__ = ("_timer", "builder", "waiters")

    def __init__(self, timeout_ms: int | None = None) -> None:
        self.builder = BatchBuilder()
        self.waiters: list[Completion[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        if timeout_ms is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(timeout_ms / 1000, self.fail, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def wait(self) -> Completion[None]:
        waiter: Completion[None] = Completion()
        self.waiters.append(waiter)
        return waiter

    def succeed(self) -> None:
        self._stop_timer()
        for waiter in self.waiters:
            waiter.resolve(None)

    def fail(self, code: ErrorCode) -> None:
        """Tell whoever waits. After a timeout the records may still get committed, and then count."""
        self._stop_timer()
        for waiter in self.waiters:
            waiter.fail(CoordinatorError(code))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


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
        self._is_ended = False
        self._clock = clock
        self._codec = codec
        self._timeout_ms = timeout_ms
        self._on_failure = on_failure
        self._open: _Batch | None = None
        self._in_flight: deque[_Batch] = deque()  # appended, in the order in which they get committed

    # -- reading --------------------------------------------------------------------------------------

    async def load(self, turn: asyncio.Semaphore) -> None:
        """Replay the log, in turn with others. Raises `LogError` or `CorruptRecords`."""
        log = self.replica.log
        async with turn:
            offset, end_offset = log.log_start_offset, log.log_end_offset
            while offset < end_offset:
                try:
                    piece = await log.read_cold(offset, _READ_BYTES, offset_limit=end_offset)
                except OffsetOutOfRange:
                    if offset >= log.log_start_offset:
                        raise
                    offset = log.log_start_offset  # records below it were deleted meanwhile
                    continue
                if piece.next_offset <= offset:
                    break
                self._replay(piece.records, offset)
                offset = piece.next_offset
                await asyncio.sleep(0)
        if end_offset > log.log_start_offset:
            await self._until_committed(end_offset - 1)
        self.is_loaded = not self._is_ended

    async def _until_committed(self, last_offset: int) -> None:
        """What an earlier leader left behind counts once it is held by all, however long too few are in sync."""
        while (committed := self.replica.committed(last_offset, leader_epoch=self.leader_epoch)) is not None:
            try:
                await committed
            except NotEnoughReplicasAfterAppend:
                await self._clock.sleep(_COMMIT_RETRY_MS)

    def _replay(self, batches: Buffer, offset: int) -> None:
        for position, header in iter_batches(batches):
            if header.is_control:
                self._replay_control(batches, position, header)
                continue
            producer_id = header.producer_id if header.is_transactional else -1
            for record in iter_records(batches, pos=position):
                if record.offset >= offset:
                    self.state.replay(record, producer_id)

    def _replay_control(self, batches: Buffer, position: int, header: BatchHeader) -> None:
        for record in iter_records(batches, pos=position):
            kind = control_type(record.key)
            if kind in (ControlType.ABORT, ControlType.COMMIT):
                self.state.end_transaction(header.producer_id, is_commit=kind is ControlType.COMMIT)

    # -- writing --------------------------------------------------------------------------------------

    def write(self, records: Sequence[NewRecord]) -> "asyncio.Future[None]":
        """Like `submit`, with a future."""
        return _future_of(self.submit(records))

    def submit(self, records: Sequence[NewRecord]) -> Completion[None]:
        """Append records that the state already has; the completion is resolved when they are committed.

        It fails with `CoordinatorError`. Raises that at once when this broker no longer leads, and, before anything
        is written, when a record is larger than the topic allows.
        """
        size_bytes_max = self._size_bytes_max
        if any(_size(record) > size_bytes_max for record in records):
            raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
        batch = self._open
        for record in records:
            if batch is None or batch.builder.size_bytes + _size(record) > size_bytes_max:
                batch = self._next_batch()
            batch.builder.append(record.key, record.value, timestamp=record.timestamp)
        assert batch is not None, "there is something to write"
        return batch.wait()

    def _next_batch(self) -> _Batch:
        self._flush()
        if self._is_ended:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        self._open = _Batch(self._timeout_ms)
        if not self._in_flight:
            asyncio.get_running_loop().call_soon(self._flush)
        return self._open

    @property
    def _size_bytes_max(self) -> int:
        return self.replica.log.config.max_message_bytes

    @property
    def payload_bytes_max(self) -> int:
        """How long a record's key and value may be together."""
        return self._size_bytes_max - _RECORD_OVERHEAD_BYTES

    def settled(self) -> Completion[None] | None:
        """What to wait for before the present state may be shown; None when all of it is committed."""
        if self._open is not None:
            return self._open.wait()
        return self._in_flight[-1].wait() if self._in_flight else None

    def write_in_transaction(
        self, records: Sequence[NewRecord], transaction: InTransaction
    ) -> Completion[None]:
        """Like `submit`, for records that count once `end_transaction` commits them: in batches of their own.

        Ask `check_producer` before the state is changed.
        """
        self._flush()
        if self._is_ended:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        batch = _Batch()
        for record in records:
            if len(batch.builder) and batch.builder.size_bytes + _size(record) > self._size_bytes_max:
                self._append_for(batch, transaction)
                batch = _Batch()
            batch.builder.append(record.key, record.value, timestamp=record.timestamp)
        written = batch.wait()
        self._append_for(batch, transaction)
        return written

    def _append_for(self, batch: _Batch, transaction: InTransaction) -> None:
        built = batch.builder.build(
            codec=self._codec,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            is_transactional=True,
        )
        self._append(batch, built, transaction.permit)

    def check_producer(self, producer_id: int, producer_epoch: int) -> None:
        """Raise `CoordinatorError` when the log knows a newer epoch of this producer."""
        known = self.replica.log.producers.get(producer_id)
        if known is not None and producer_epoch < known.producer_epoch:
            raise CoordinatorError(ErrorCode.INVALID_PRODUCER_EPOCH)

    def end_transaction(
        self, marker_batch: bytes, producer_id: int, *, is_commit: bool
    ) -> "asyncio.Future[None]":
        """Append the marker of a producer's transaction. Raises `LogError`, and then nothing is changed."""
        self._flush()
        if self._is_ended:
            raise CoordinatorError(ErrorCode.NOT_COORDINATOR)
        batch = _Batch()
        written = _future_of(batch.wait())
        appended = self._append_to_log(marker_batch)
        self.state.end_transaction(producer_id, is_commit=is_commit)
        self._when_appended(batch, appended)
        return written

    def _flush(self) -> None:
        batch, self._open = self._open, None
        if batch is not None:
            self._append(batch, batch.builder.build(codec=self._codec))

    def _append_to_log(self, records: bytes, permit: TransactionPermit | None = None) -> Appended:
        return self.replica.append(
            bytearray(records),
            self._clock.now_ms(),
            leader_epoch=self.leader_epoch,
            origin=Origin.COORDINATOR,
            permit=permit,
        )

    def _append(self, batch: _Batch, records: bytes, permit: TransactionPermit | None = None) -> None:
        try:
            appended = self._append_to_log(records, permit)
        except LogError as error:
            self._fail(batch, error)
        else:
            self._when_appended(batch, appended)

    def _when_appended(self, batch: _Batch, appended: Appended) -> None:
        committed = self.replica.committed(appended.last_offset, leader_epoch=appended.leader_epoch)
        if committed is None:
            batch.succeed()
        else:
            self._in_flight.append(batch)
            committed.then(partial(self._when_committed, batch))

    def _when_committed(self, batch: _Batch, done: Completion[None]) -> None:
        if not self._in_flight or self._in_flight[0] is not batch:
            return  # `end` has told them
        self._in_flight.popleft()
        if done.error is not None:
            self._fail(batch, done.error)
            return
        if not self._in_flight:
            self._flush()
        batch.succeed()

    def _fail(self, batch: _Batch, error: BaseException) -> None:
        if not self._is_ended:
            self._on_failure(self)
        batch.fail(told_of(error.code if isinstance(error, LogError) else ErrorCode.UNKNOWN_SERVER_ERROR))

    def distrust(self) -> None:
        """The state has something that the log will never have: load it anew."""
        if not self._is_ended:
            self._on_failure(self)

    def end(self) -> None:
        """Give up, because another broker leads or the state cannot be trusted; whoever waits is told so."""
        self._is_ended = True
        self.is_loaded = False
        if self._open is not None:
            self._in_flight.append(self._open)
            self._open = None
        while self._in_flight:
            self._in_flight.popleft().fail(ErrorCode.NOT_COORDINATOR)


def _size(record: NewRecord) -> int:
    return _RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")


_TOLD: dict[ErrorCode, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def told_of(code: ErrorCode) -> ErrorCode:
    """What a coordinator's client is told when the log refuses: it knows of coordinators, not of logs."""
    return _TOLD.get(code, code)
