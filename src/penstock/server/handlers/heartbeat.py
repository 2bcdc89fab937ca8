"""Heartbeat (key 12), v0-v4: keeps the session of a classic member alive, and notifies it of a rebalance."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group

VERSIONS = range(5)


def handle(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    if not may_group(ctx, Operation.READ, request.group_id):
        return HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return HeartbeatResponse(error_code=ctx.broker.groups.heartbeat(request))
