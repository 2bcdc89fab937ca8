"""Heartbeat (key 12), v0-v4: a member of a classic group is alive; it learns here that the group rebalances."""

from penstock.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=ctx.broker.groups.heartbeat(request))
