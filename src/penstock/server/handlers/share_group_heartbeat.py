"""ShareGroupHeartbeat (key 76), v1: join, stay in and leave a share group, and learn one's assignment (KIP-932).

Members make their ids themselves. Epoch 0 joins, -1 leaves. Whoever joins waits for its partitions to be ready, no
longer than until its next heartbeat would be due.
"""

from collections.abc import Awaitable

from penstock.groups.consumer.heartbeat import Client
from penstock.groups.share.heartbeat import may_be_member_id
from penstock.observability.completion import Reply
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.permissions import denied_topics, may_group


def handle(
    ctx: RequestContext, request: ShareGroupHeartbeatRequest
) -> (
    ShareGroupHeartbeatResponse | Reply[ShareGroupHeartbeatResponse] | Awaitable[ShareGroupHeartbeatResponse]
):
    groups = ctx.broker.groups
    if not groups.shares.is_offered:
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.READ, request.group_id):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not may_be_member_id(request.member_id):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)
    if denied_topics(ctx, Operation.DESCRIBE, request.subscribed_topic_names or ()):
        return ShareGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    shard = groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return ShareGroupHeartbeatResponse(error_code=shard)
    return groups.shares.heartbeat(shard, request, Client(ctx.client_id or "", f"/{ctx.peer.host}"))
