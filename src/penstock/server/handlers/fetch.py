"""Fetch (key 1), v4-v18: read record batches, with sessions (KIP-227), topic ids (v13) and long poll.

Stage one adds the request to its session and reads the records that are in memory. If these are fewer than `min_bytes`,
stage two waits for changes in any of the partitions, at most `max_wait_ms`; records on disk are read off the loop. No
records are held while waiting: they are read again. See `fetch_read` for a single pass. A fetch of the metadata log, by
its id, is the quorum's; by its name there is no such topic for clients.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import cast

import msgspec

from penstock.cluster.quorum.wire import is_about_quorum
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import fetch as api
from penstock.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.fetch_sessions import FetchPartition, FetchPlan, TopicKey
from penstock.server.handlers.shared.current_leader import LED_ELSEWHERE, current_leader
from penstock.server.handlers.shared.fetch_read import FetchRead, Reader, bytes_max
from penstock.server.handlers.shared.long_poll import change, watching
from penstock.server.handlers.shared.permissions import refused_topics
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(4, 19)

_HAS_IDS_FROM = 13
_TELLS_LEADER_FROM = 16  # KIP-951
_KNOWS_ZSTD_FROM = 10
_READS_FOLLOWERS_FROM = 11  # KIP-392


def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    if ctx.version >= _HAS_IDS_FROM and is_about_quorum(request):
        return cast("Awaitable[FetchResponse]", ask_quorum(ctx, request, FetchResponse))
    plan = ctx.broker.fetch_sessions.plan(request, ctx.version, ctx.broker.clock.monotonic_ms())
    if plan.error_code:
        return FetchResponse(error_code=plan.error_code)
    reader = _reader(ctx, request)
    read = FetchRead(
        ctx, plan.partitions, bytes_max(ctx, request.max_bytes), reader, _refused(ctx, plan, reader)
    )
    if ctx.broker.memory.read_budget.is_open:
        read.from_memory()
        if read.is_complete and (request.max_wait_ms <= 0 or read.is_enough(request.min_bytes)):
            return _respond(ctx, plan, read)
    return _respond_later(ctx, request, plan, read)


def _reader(ctx: RequestContext, request: FetchRequest) -> Reader:
    state = request.replica_state
    if max(request.replica_id, state.replica_id) >= 0:
        return Reader(broker_id=max(request.replica_id, state.replica_id), broker_epoch=state.replica_epoch)
    return Reader(
        isolation_level=request.isolation_level,
        rack=request.rack_id,
        reads_followers=ctx.version >= _READS_FOLLOWERS_FROM,
        knows_zstd=ctx.version >= _KNOWS_ZSTD_FROM,
    )


def _refused(ctx: RequestContext, plan: FetchPlan, reader: Reader) -> Mapping[TopicKey, ErrorCode]:
    """The topics that may not be read. A follower is a broker (`broker_apis`), and reads all."""
    if reader.is_follower or not ctx.broker.authorizer.is_enforcing:
        return {}
    return refused_topics(ctx, Operation.READ, {wanted.topic for wanted in plan.partitions})


async def _respond_later(
    ctx: RequestContext, request: FetchRequest, plan: FetchPlan, read: FetchRead
) -> FetchResponse:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + request.max_wait_ms / 1000

    async def read_enough() -> bool:
        async with ctx.peer.turns.turn(ctx.number):
            await _read(ctx, read)
        return read.is_enough(request.min_bytes) or loop.time() >= deadline or ctx.peer.is_disconnecting

    must_wait = not await read_enough()
    while must_wait:
        with watching(ctx.peer, deadline, read.watch) as changed:
            read.forget()
            must_wait = not await read_enough()  # once more, for changes before the watch began
            if must_wait:
                read.forget()
                await change(changed)
    return _respond(ctx, plan, read)


async def _read(ctx: RequestContext, read: FetchRead) -> None:
    """Read the remaining partitions."""
    if not read.has_begun:
        await ctx.broker.memory.read_budget.turn()
        read.from_memory()
    await read.from_disk()


def _respond(ctx: RequestContext, plan: FetchPlan, read: FetchRead) -> FetchResponse:
    """Build the response; in an incremental session only with changed partitions."""
    quotas = ctx.broker.quotas
    if quotas.is_active and not read.reader.is_follower:
        wait_ms = quotas.wait_before_fetch_ms(ctx.peer, ctx.client_id, read.size)
        if wait_ms:
            return FetchResponse(throttle_time_ms=wait_ms, session_id=plan.session_id, responses=[])
    ctx.peer.turns.note_size(read.size)
    topics: list[FetchableTopicResponse] = []
    leaders: dict[int, api.NodeEndpoint] = {}
    for wanted, data in zip(plan.partitions, read.results, strict=True):
        if not plan.must_include(wanted, data):
            continue
        if data.records:
            read.note_sent(wanted, len(data.records))
        if data.error_code:
            data = _failed_for(ctx, wanted, data, leaders)  # noqa: PLW2901
        _topic_of(topics, wanted).partitions.append(data)
    return FetchResponse(session_id=plan.session_id, responses=topics, node_endpoints=list(leaders.values()))


def _topic_of(topics: list[FetchableTopicResponse], wanted: FetchPartition) -> FetchableTopicResponse:
    """The last topic of the response if it is the wanted one, else a new one."""
    key = wanted.topic
    if isinstance(key, bytes):
        if not topics or topics[-1].topic_id != key:
            topics.append(FetchableTopicResponse(topic_id=key, partitions=[]))
    elif not topics or topics[-1].topic != key:
        topics.append(FetchableTopicResponse(topic=key, partitions=[]))
    return topics[-1]


def _failed_for(
    ctx: RequestContext, wanted: FetchPartition, data: PartitionData, leaders: dict[int, api.NodeEndpoint]
) -> PartitionData:
    """An error as this version of the client understands it, with the current leader if another broker leads."""
    code = data.error_code
    if code == ErrorCode.KAFKA_STORAGE_ERROR and ctx.version <= 5:
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER  # older clients do not know the code, and give up
    leader = api.LeaderIdAndEpoch()
    if ctx.version >= _TELLS_LEADER_FROM and code in LED_ELSEWHERE:
        leader = current_leader(ctx, wanted.topic, wanted.index, leaders, api)
    return msgspec.structs.replace(data, error_code=code, current_leader=leader)
