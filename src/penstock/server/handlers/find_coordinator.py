"""FindCoordinator (key 10), v0-v6: the coordinator of a group or a transactional id; from v4 on several at once.

Creates the coordinator's topic if it does not exist yet, and names a broker only once that broker serves the partition,
here or elsewhere: so the client's next request is not refused. The wait is bounded; then the response is
COORDINATOR_NOT_AVAILABLE, which clients retry. Key types: 0 group, 1 transaction, 2 share. Type 2 is for brokers, from
v6 on: the coordinator of a share partition's state, named `group:topic id:partition`.
"""

import asyncio
from typing import Any

from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import find_coordinator as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group, may_transactional_id
from penstock.share.state.keys import InvalidShareKey, coordinator_key, parse_coordinator_key

VERSIONS = range(7)

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2
_NOBODY = -1
_TURN = 500
_BATCHED_FROM = 4
_SHARE_FROM = 6


async def handle(ctx: RequestContext, request: api.FindCoordinatorRequest) -> api.FindCoordinatorResponse:
    if ctx.version >= _BATCHED_FROM:
        found: list[api.Coordinator] = []
        for key in request.coordinator_keys:
            found.append(await _find(ctx, request.key_type, key))
            if len(found) % _TURN == 0:
                await asyncio.sleep(0)  # the broker has other clients
        return api.FindCoordinatorResponse(coordinators=found)
    one = await _find(ctx, request.key_type, request.key)
    return api.FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message or "NONE",
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


async def _find(ctx: RequestContext, key_type: int, key: str) -> api.Coordinator:
    leader: int | ErrorCode
    if key_type == _GROUP:
        if not may_group(ctx, Operation.DESCRIBE, key):
            return _none(key, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        is_here = await ctx.broker.groups.ensure_ready(key)
        leader = await _serving(ctx, key_type, key, ctx.broker.groups.shards, is_here=is_here)
    elif key_type == _TRANSACTION:
        if not may_transactional_id(ctx, Operation.DESCRIBE, key):
            return _none(key, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        is_here = await ctx.broker.transactions.ensure_ready(key)
        leader = await _serving(ctx, key_type, key, ctx.broker.transactions.partitions, is_here=is_here)
    elif key_type == _SHARE and ctx.version >= _SHARE_FROM:
        leader = await _find_share(ctx, key)
    else:
        leader = ErrorCode.INVALID_REQUEST
    if isinstance(leader, ErrorCode):
        return _none(key, leader)
    broker = ctx.broker.controller.image.brokers.get(leader)
    endpoint = broker.endpoint(ctx.peer.listener) if broker is not None and broker.is_active else None
    if broker is None or endpoint is None:
        return _none(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return api.Coordinator(
        key=key, node_id=broker.broker_id, host=endpoint.host, port=endpoint.port, error_message=""
    )


async def _find_share(ctx: RequestContext, text: str) -> int | ErrorCode:
    if not ctx.may_in_cluster(Operation.CLUSTER_ACTION):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    try:
        key = parse_coordinator_key(text)
    except InvalidShareKey:
        return ErrorCode.INVALID_REQUEST
    is_here = await ctx.broker.share_state.ensure_ready(key)
    return await _serving(ctx, _SHARE, coordinator_key(key), ctx.broker.share_state.shards, is_here=is_here)


async def _serving(
    ctx: RequestContext, key_type: int, key: str, partitions: CoordinatorPartitions[Any], *, is_here: bool
) -> int:
    """The broker that serves the partition of a key; -1 when there is none now."""
    leader = ctx.broker.node_id if is_here else partitions.leader_of(key)
    if is_here or leader == _NOBODY:
        return leader
    if leader == ctx.broker.node_id:
        return _NOBODY
    # A request from a broker was already sent to the leader: another hop could loop.
    is_ready = ctx.peer.is_broker or await ctx.broker.coordinators.is_ready(key_type, partitions.topic, key)
    return leader if is_ready else _NOBODY


def _none(key: str, code: ErrorCode) -> api.Coordinator:
    return api.Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=code.name)
