"""Fetch (key 1), v4-v18: read record batches, with sessions (KIP-227), topic ids (v13) and long poll.

Stage one takes the request into its session and reads what is in memory. If that is less than `min_bytes`, stage
two waits for news of any of the partitions, at most `max_wait_ms`; what must come from the disk is read off the
loop. The first batch found is returned whole even when it is larger than the limits (KIP-74).
"""

import asyncio
from collections.abc import Awaitable

from penstock.cluster.replica import Replica
from penstock.config.themes.network import FETCH_MAX_BYTES
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.server.context import RequestContext
from penstock.server.fetch_sessions import FetchPartition, FetchPlan, FetchResult
from penstock.storage.log import Cold, LogSlice
from penstock.storage.log_errors import LogError

_READ_COMMITTED = 1


def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    plan = ctx.broker.fetch_sessions.plan(request, ctx.version, ctx.broker.clock.monotonic_ms())
    if plan.error_code:
        return FetchResponse(error_code=plan.error_code)
    read = _Read(ctx, request, plan)
    read.from_memory()
    if read.is_enough():
        return read.respond()
    return _wait_for_more(ctx, request, read)


async def _wait_for_more(ctx: RequestContext, request: FetchRequest, read: "_Read") -> FetchResponse:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + request.max_wait_ms / 1000
    await read.from_disk()
    while not read.is_enough() and loop.time() < deadline:
        if not await _news(ctx, read, deadline):
            break
        read.from_memory()
        await read.from_disk()
    return read.respond()


async def _news(ctx: RequestContext, read: "_Read", deadline: float) -> bool:
    """Wait for any of the partitions to change; False when the time is up or the client is gone."""
    loop = asyncio.get_running_loop()
    changed: asyncio.Future[None] = loop.create_future()
    timer = loop.call_at(deadline, changed.cancel)
    polls = ctx.peer.long_polls
    polls.add(changed)
    replicas = read.replicas()
    for replica in replicas:
        replica.watch(changed)
    try:
        await changed
    except asyncio.CancelledError:
        if not changed.cancelled():  # it is this task that is cancelled
            raise
        return False
    finally:
        timer.cancel()
        polls.discard(changed)
        for replica in replicas:
            replica.unwatch(changed)
    return True


class _Read:
    """The state of one fetch: what each partition gave so far and how many bytes are left to give."""

    __slots__ = ("_bytes_left", "_cold", "_ctx", "_plan", "_read_committed", "_request", "_results", "_size")

    def __init__(self, ctx: RequestContext, request: FetchRequest, plan: FetchPlan) -> None:
        self._ctx = ctx
        self._request = request
        self._plan = plan
        self._read_committed = request.isolation_level == _READ_COMMITTED
        self._results: list[PartitionData] = []
        self._cold: list[int] = []
        self._size = 0
        self._bytes_left = 0

    def from_memory(self) -> None:
        """Read every partition without waiting; those that need the disk are left for `from_disk`."""
        self._size = 0
        self._cold = []
        self._bytes_left = min(self._request.max_bytes, self._ctx.broker.config[FETCH_MAX_BYTES])
        self._results = []
        for position, wanted in enumerate(self._plan.partitions):
            result = self._read_one(wanted)
            if result is None:
                self._cold.append(position)
                result = PartitionData(partition_index=wanted.index, error_code=0, high_watermark=-1)
            self._take(result)
            self._results.append(result)

    async def from_disk(self) -> None:
        cold, self._cold = self._cold, []
        for position in cold:
            result = await self._read_cold(self._plan.partitions[position])
            self._take(result)
            self._results[position] = result

    def is_enough(self) -> bool:
        if self._cold:
            return False
        return (
            self._size >= self._request.min_bytes
            or self._request.max_wait_ms <= 0
            or not self._plan.partitions
            or any(r.error_code or r.diverging_epoch.epoch >= 0 for r in self._results)
        )

    def replicas(self) -> list[Replica]:
        leaders = (self._leader(p) for p in self._plan.partitions)
        return [r for r in leaders if isinstance(r, Replica)]

    def respond(self) -> FetchResponse:
        """Build the answer; in an incremental session only what is news."""
        topics: list[FetchableTopicResponse] = []
        plan = self._plan
        for wanted, data in zip(plan.partitions, self._results, strict=True):
            result = FetchResult(
                error_code=data.error_code,
                high_watermark=data.high_watermark,
                log_start_offset=data.log_start_offset,
                has_records=bool(data.records),
                must_tell=data.diverging_epoch.epoch >= 0,
            )
            if not plan.is_worth_telling(wanted, result):
                continue
            is_id = isinstance(wanted.topic, bytes)
            if not topics or (topics[-1].topic_id if is_id else topics[-1].topic) != wanted.topic:
                topics.append(
                    FetchableTopicResponse(topic_id=wanted.topic, partitions=[])
                    if isinstance(wanted.topic, bytes)
                    else FetchableTopicResponse(topic=wanted.topic, partitions=[])
                )
            topics[-1].partitions.append(data)
        return FetchResponse(session_id=plan.session_id, responses=topics)

    def _leader(self, wanted: FetchPartition) -> Replica | ErrorCode:
        replicas = self._ctx.broker.replicas
        if isinstance(wanted.topic, bytes):
            return replicas.leader_by_id(wanted.topic, wanted.index)
        return replicas.leader_of(wanted.topic, wanted.index)

    def _take(self, result: PartitionData) -> None:
        size = len(result.records or b"")
        self._size += size
        self._bytes_left = max(0, self._bytes_left - size)

    def _read_one(self, wanted: FetchPartition) -> PartitionData | None:
        """What one partition gives from memory; None when its records are on disk only."""
        leader = self._leader(wanted)
        if not isinstance(leader, Replica):
            return _failed(wanted.index, leader)
        refusal = self._refuse(leader, wanted)
        if refusal is not None:
            return refusal
        if wanted.fetch_offset == self._limit(leader):
            return self._found(leader, wanted, None)
        try:
            found = leader.log.read(
                wanted.fetch_offset,
                min(wanted.partition_max_bytes, self._bytes_left),
                offset_limit=self._limit(leader),
                at_least_one=self._size == 0,
            )
        except LogError as error:
            return _failed(wanted.index, error.code)
        return None if isinstance(found, Cold) else self._found(leader, wanted, found)

    async def _read_cold(self, wanted: FetchPartition) -> PartitionData:
        leader = self._leader(wanted)
        if not isinstance(leader, Replica):
            return _failed(wanted.index, leader)
        try:
            found = await leader.log.read_cold(
                wanted.fetch_offset,
                min(wanted.partition_max_bytes, self._bytes_left),
                offset_limit=self._limit(leader),
                at_least_one=self._size == 0,
            )
        except LogError as error:
            return _failed(wanted.index, error.code)
        return self._found(leader, wanted, found)

    def _limit(self, leader: Replica) -> int:
        return leader.last_stable_offset if self._read_committed else leader.high_watermark

    def _refuse(self, leader: Replica, wanted: FetchPartition) -> PartitionData | None:
        code = leader.check_epoch(wanted.current_leader_epoch)
        if code:
            return _failed(wanted.index, code)
        if not leader.log.log_start_offset <= wanted.fetch_offset <= leader.high_watermark:
            # Between the high watermark and the end of the log the offset exists, but is not committed yet.
            if leader.high_watermark < wanted.fetch_offset <= leader.log.log_end_offset:
                return self._found(leader, wanted, None)
            return _failed(wanted.index, ErrorCode.OFFSET_OUT_OF_RANGE)
        if wanted.last_fetched_epoch >= 0:
            epoch, end_offset = leader.log.epoch_end_offset(wanted.last_fetched_epoch)
            if end_offset < 0 or epoch < wanted.last_fetched_epoch or end_offset < wanted.fetch_offset:
                return PartitionData(
                    partition_index=wanted.index,
                    error_code=0,
                    high_watermark=leader.high_watermark,
                    last_stable_offset=leader.last_stable_offset,
                    log_start_offset=leader.log.log_start_offset,
                    diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset),
                    records=b"",
                )
        return None

    def _found(self, leader: Replica, wanted: FetchPartition, found: LogSlice | None) -> PartitionData:
        aborted: list[AbortedTransaction] | None = None
        if self._read_committed:
            aborted = [
                AbortedTransaction(producer_id=t.producer_id, first_offset=t.first_offset)
                for t in (
                    leader.log.aborted_transactions(wanted.fetch_offset, found.next_offset) if found else ()
                )
            ]
        return PartitionData(
            partition_index=wanted.index,
            error_code=0,
            high_watermark=leader.high_watermark,
            last_stable_offset=leader.last_stable_offset,
            log_start_offset=leader.log.log_start_offset,
            aborted_transactions=aborted,
            records=found.records if found else b"",
        )


def _failed(index: int, code: ErrorCode) -> PartitionData:
    return PartitionData(partition_index=index, error_code=code, high_watermark=-1, records=b"")
