"""Heartbeat (key 12), v0-v4: a member of a classic group is alive; it learns here that the group rebalances."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.permissions import may_group


def handle(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    if not may_group(ctx, Operation.READ, request.group_id):
        return HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return HeartbeatResponse(error_code=ctx.broker.groups.heartbeat(request))
