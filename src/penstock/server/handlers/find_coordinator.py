"""FindCoordinator (key 10), v0-v6: which broker coordinates a group or a transactional id; from v4 on several at once.

Makes `__consumer_offsets` or `__transaction_state` when it does not exist yet, and answers when the partition is
loaded: a client need not ask twice. Key types: 0 group, 1 transaction, 2 share (not served).
"""

import asyncio
from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.permissions import may_group, may_transactional_id

_GROUP, _TRANSACTION = 0, 1
_TURN = 500
_BATCHED_FROM = 4


def handle(ctx: RequestContext, request: FindCoordinatorRequest) -> Awaitable[FindCoordinatorResponse]:
    return _find_all(ctx, request)


async def _find_all(ctx: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if ctx.version >= _BATCHED_FROM:
        found: list[Coordinator] = []
        for key in request.coordinator_keys:
            found.append(await _find(ctx, request.key_type, key))
            if len(found) % _TURN == 0:
                await asyncio.sleep(0)  # the broker has other clients
        return FindCoordinatorResponse(coordinators=found)
    one = await _find(ctx, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message or "NONE",
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


async def _find(ctx: RequestContext, key_type: int, key: str) -> Coordinator:
    if key_type not in (_GROUP, _TRANSACTION):
        return _none(key, ErrorCode.INVALID_REQUEST)
    if key_type == _GROUP and not may_group(ctx, Operation.DESCRIBE, key):
        return _none(key, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if key_type == _TRANSACTION and not may_transactional_id(ctx, Operation.DESCRIBE, key):
        return _none(key, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    coordinator = ctx.broker.groups if key_type == _GROUP else ctx.broker.transactions
    await coordinator.ready_home(key)
    broker = ctx.broker.controller.image.brokers.get(coordinator.leader_of(key))
    endpoint = broker.endpoint(ctx.peer.listener) if broker is not None and broker.is_active else None
    if broker is None or endpoint is None:
        return _none(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(
        key=key, node_id=broker.broker_id, host=endpoint.host, port=endpoint.port, error_message=""
    )


def _none(key: str, code: ErrorCode) -> Coordinator:
    return Coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=code.name)
