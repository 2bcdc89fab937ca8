"""One share fetch: reads the log at the next fetch offsets of the share partitions, and acquires the records.

Partitions are read as in any fetch (`fetch_read`), each with an equal share of the bytes, and only while records can be
acquired. From the choice of an offset until the records are acquired, no other fetch of the group reads the share
partition; otherwise both would find the same records. Nothing is acquired before there are enough records to respond,
nor for a client that has disconnected or a session that has ended: the records would never be acknowledged. The
response has whole batches, from the first to the last acquired record.
"""

import asyncio
import struct
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import attrgetter

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import fetch
from penstock.protocol.messages import share_fetch as api
from penstock.protocol.records.batch import LOG_OVERHEAD, iter_batches
from penstock.protocol.wire import RecordsBuffer
from penstock.server.context import RequestContext
from penstock.server.fetch_sessions import FetchPartition
from penstock.server.handlers.shared.fetch_read import FetchRead, Reader, bytes_max
from penstock.server.handlers.shared.long_poll import Watched, change, watching
from penstock.share.led_partition import LedPartition
from penstock.share.partition.aborted import aborted_ranges
from penstock.share.partition.values import Acquired, AcquireMode, OffsetRange
from penstock.share.partitions import ENDING
from penstock.share.sessions import ShareSession, TopicPartition
from penstock.storage.segment.transaction_index import AbortedTransaction

Responses = dict[TopicPartition, api.PartitionData]
_BATCH_HEAD = struct.Struct(">qi11xi")  # base offset, length, last offset delta
_READ_COMMITTED = 1
NO_LEADER = api.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
"""The default of the schema is broker 0, and franz-go would then use that broker."""


class ShareRead:
    __slots__ = ("_ctx", "_led", "_mode", "_reader", "_request", "_session", "wait_ms")

    def __init__(
        self,
        ctx: RequestContext,
        request: api.ShareFetchRequest,
        session: ShareSession,
        led: Mapping[TopicPartition, LedPartition],
        *,
        reads_committed: bool,
    ) -> None:
        self._ctx = ctx
        self._request = request
        self._session = session
        self._led = led
        self._mode = AcquireMode(request.share_acquire_mode)
        self._reader = Reader(isolation_level=_READ_COMMITTED if reads_committed else 0)
        self.wait_ms = 0  # the throttle time of a client that has exceeded its quota and gets nothing

    async def responses(self) -> Responses:
        """Return the records for the client, when there are enough or the wait time is over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._request.max_wait_ms / 1000
        responses = await self._attempt(deadline)
        while responses is None:
            with watching(self._ctx.peer, deadline, self._watch) as changed:
                # Again, for records that came before the watch began.
                responses = await self._attempt(deadline, changed)
                if responses is None:
                    await change(changed)
        return responses

    async def _attempt(
        self, deadline: float, changed: "asyncio.Future[None] | None" = None
    ) -> Responses | None:
        async with self._ctx.peer.turns.turn(self._ctx.number):
            is_late = asyncio.get_running_loop().time() >= deadline or self._ctx.peer.is_disconnecting
            return await self._read(changed, is_late=is_late)

    async def _read(self, changed: "asyncio.Future[None] | None", *, is_late: bool) -> Responses | None:
        names = [name for name, led in self._led.items() if led.begin_reading(changed)]
        try:
            if names:
                wanted = self._wanted(names)
                read = FetchRead(self._ctx, wanted, self._bytes_max, self._reader)
                await self._ctx.broker.memory.read_budget.turn()
                read.from_memory()
                await read.from_disk()
                if is_late or read.is_enough(self._request.min_bytes):
                    return self._failures() | self._acquired(names, wanted, read)
        finally:
            for name in names:
                self._led[name].end_reading()
        # A failed load is reported when the wait time is over, as in Kafka: clients retry at once.
        is_over = any(led.was_loaded and led.failure for led in self._led.values())
        return self._failures() if is_late or is_over else None

    @property
    def _bytes_max(self) -> int:
        return bytes_max(self._ctx, self._request.max_bytes)

    def _wanted(self, names: Sequence[TopicPartition]) -> list[FetchPartition]:
        bytes_each = max(1, self._bytes_max // len(names))
        wanted = []
        for name in names:
            state, leader = self._led[name].state, self._leader(name)
            assert state is not None
            offset = state.next_fetch_offset
            if isinstance(leader, Replica):
                # The log may end before: it was truncated, or the start offset was set. Then the fetch waits.
                offset = min(offset, leader.log.log_end_offset)
            wanted.append(
                FetchPartition(
                    topic=name.topic_id,
                    index=name.partition,
                    fetch_offset=offset,
                    partition_max_bytes=bytes_each,
                    current_leader_epoch=-1,
                    last_fetched_epoch=-1,
                    log_start_offset=-1,
                )
            )
        return wanted

    def _failures(self) -> Responses:
        """Return the errors of ended share partitions, except COORDINATOR_NOT_AVAILABLE, which clients do not know."""
        return {
            name: failed(name, led.failure)
            for name, led in self._led.items()
            if led.failure not in (ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        }

    def _watch(self, changed: "asyncio.Future[None]") -> list[Watched]:
        """Resolve `changed` when there may be records to acquire."""
        replicas = [r for name in self._led if isinstance(r := self._leader(name), Replica)]
        for replica in replicas:
            replica.watch(changed)
        for led in self._led.values():
            led.watch(changed)
        return [*replicas, *self._led.values()]

    def _leader(self, name: TopicPartition) -> Replica | ErrorCode:
        return self._ctx.broker.replicas.leader_by_id(name.topic_id, name.partition)

    # -- acquiring ------------------------------------------------------------------------------------

    def _acquired(
        self, names: Sequence[TopicPartition], wanted: Sequence[FetchPartition], read: FetchRead
    ) -> Responses:
        is_open = self._ctx.broker.shares.sessions.is_open(self._session)
        if self._ctx.peer.is_disconnecting or not is_open or self._exceeds_quota(read.size):
            return {}
        responses: Responses = {}
        records_left = self._request.max_records
        sent_bytes = 0
        for place, (name, asked, data) in enumerate(zip(names, wanted, read.results, strict=True)):
            aborted = read.aborted.get(place, ())
            response, count = self._acquire(name, asked, data, aborted, records_left)
            responses[name] = response
            records_left -= count
            if response.records:
                sent_bytes += len(response.records)
                read.note_sent(asked, len(response.records))
        self._ctx.peer.turns.note_size(sent_bytes)
        quotas = self._ctx.broker.quotas
        if quotas.is_active:
            quotas.wait_before_fetch_ms(self._ctx.peer, self._ctx.client_id, sent_bytes)
        return responses

    def _exceeds_quota(self, size_bytes: int) -> bool:
        """Check the quota before records are acquired: records that are not sent must not be locked."""
        quotas = self._ctx.broker.quotas
        if quotas.is_active and size_bytes:
            self.wait_ms = quotas.wait_before_fetch_ms(self._ctx.peer, self._ctx.client_id, 0)
        return self.wait_ms > 0

    def _acquire(
        self,
        name: TopicPartition,
        asked: FetchPartition,
        data: fetch.PartitionData,
        aborted: Sequence[AbortedTransaction],
        records_max: int,
    ) -> tuple[api.PartitionData, int]:
        """Acquire records of one partition. Return the result and the number of records."""
        led = self._led[name]
        leader = self._leader_for(led, name)
        code = ErrorCode(data.error_code) or (leader if isinstance(leader, ErrorCode) else ErrorCode.NONE)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            _log_start_moved(led, leader)
            return failed(name, ErrorCode.NONE), 0
        if code in ENDING:
            self._ctx.broker.shares.partitions.end(led, code)
        state = led.state
        if not isinstance(leader, Replica) or code or state is None or not data.records or records_max <= 0:
            return failed(name, code or led.failure), 0
        limit = asked.fetch_offset + state.settings.record_locks_max + records_max
        positions, batches = _batches_in(data.records, limit, data.high_watermark)
        acquired = state.acquire(
            self._request.member_id or "",
            fetch_offset=asked.fetch_offset,
            batches=batches,
            records_max=records_max,
            batch_size=max(1, self._request.batch_size),
            now_ms=int(self._ctx.broker.clock.monotonic_ms()),
            mode=self._mode,
            aborted=_aborted(batches, memoryview(data.records)[: positions[-1]], aborted),
        )
        self._ctx.broker.shares.partitions.acquired(led)
        if not acquired:
            return failed(name, ErrorCode.NONE), 0
        response = api.PartitionData(
            partition_index=name.partition,
            current_leader=NO_LEADER,
            records=_cut(data.records, positions, batches, acquired),
            acquired_records=[
                api.AcquiredRecords(
                    first_offset=a.first_offset, last_offset=a.last_offset, delivery_count=a[2]
                )
                for a in acquired
            ],
        )
        return response, sum(a.last_offset - a.first_offset + 1 for a in acquired)

    def _leader_for(self, led: LedPartition, name: TopicPartition) -> Replica | ErrorCode:
        """Return the replica, if it still leads in the epoch of the share partition."""
        leader = self._leader(name)
        if isinstance(leader, Replica) and leader.leader_epoch != led.leader_epoch:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return leader


def _log_start_moved(led: LedPartition, leader: Replica | ErrorCode) -> None:
    if led.state is not None and isinstance(leader, Replica):
        led.state.log_start_moved(leader.log.log_start_offset)


def _aborted(
    batches: Sequence[OffsetRange], records: memoryview, aborted: Sequence[AbortedTransaction]
) -> list[OffsetRange]:
    """Return the batches that read_committed must not see.

    The index of the log cannot be used: it may have been deleted with the records since they were read.
    """
    if not aborted:
        return []
    found = aborted_ranges((header for _, header in iter_batches(records)), aborted)
    first_offsets = {each.first_offset for each in found}
    return [each for each in batches if each.first_offset in first_offsets]


def failed(name: TopicPartition, code: ErrorCode) -> api.PartitionData:
    return api.PartitionData(
        partition_index=name.partition, error_code=code, current_leader=NO_LEADER, records=b""
    )


def _batches_in(
    records: RecordsBuffer, offset_limit: int, end_offset: int
) -> tuple[list[int], list[OffsetRange]]:
    """Return the positions of the batches, with the end of the last one, and their offsets.

    Batches after `offset_limit` are left out, except the first: more records than may be in flight cannot be acquired.
    A corrupt batch may claim offsets of later batches, or beyond `end_offset`: it does not get them.
    """
    positions = [0]
    batches: list[OffsetRange] = []
    position, end = 0, len(records)
    while position < end:
        base_offset, length, last_delta = _BATCH_HEAD.unpack_from(records, position)
        if batches and base_offset > offset_limit:
            break
        if batches and batches[-1].last_offset >= base_offset:
            batches[-1] = _up_to(batches[-1], base_offset)
        position += LOG_OVERHEAD + length
        positions.append(position)
        batches.append(OffsetRange(base_offset, base_offset + last_delta))
    if batches:
        batches[-1] = _up_to(batches[-1], end_offset)
    return positions, batches


def _up_to(batch: OffsetRange, end_offset: int) -> OffsetRange:
    return OffsetRange(batch.first_offset, max(batch.first_offset, min(batch.last_offset, end_offset - 1)))


_first_offset = attrgetter("first_offset")


def _cut(
    records: RecordsBuffer,
    positions: Sequence[int],
    batches: Sequence[OffsetRange],
    acquired: Sequence[Acquired],
) -> RecordsBuffer:
    """Return the batches from the first to the last acquired record."""
    first_offset, last_offset = acquired[0].first_offset, acquired[-1].last_offset
    begin = positions[max(0, bisect_right(batches, first_offset, key=_first_offset) - 1)]
    end = positions[max(1, bisect_right(batches, last_offset, key=_first_offset))]
    if begin == 0 and end == len(records):
        return records
    return memoryview(records)[begin:end]
