"""ShareGroupHeartbeat (key 76), v1: join, stay in and leave a share group, and get an assignment (KIP-932).

Members generate their ids. Epoch 0 joins, -1 leaves. A joining member waits for its partitions to be initialized, at
most until its next heartbeat is due.
"""

from collections.abc import Awaitable

from penstock.groups.base.member import Client
from penstock.groups.share.heartbeat import is_valid_member_id
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import share_group_heartbeat as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import denied_topics, may_group

VERSIONS = range(1, 2)


def handle(
    ctx: RequestContext, request: api.ShareGroupHeartbeatRequest
) -> api.ShareGroupHeartbeatResponse | Awaitable[api.ShareGroupHeartbeatResponse]:
    groups = ctx.broker.groups
    if not groups.shares.is_enabled:
        return api.ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.READ, request.group_id):
        return api.ShareGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not is_valid_member_id(request.member_id):
        return api.ShareGroupHeartbeatResponse(error_code=ErrorCode.INVALID_REQUEST)
    if denied_topics(ctx, Operation.DESCRIBE, request.subscribed_topic_names or ()):
        return api.ShareGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    shard = groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return api.ShareGroupHeartbeatResponse(error_code=shard)
    return groups.shares.heartbeat(shard, request, Client(ctx.client_id or "", f"/{ctx.peer.host}"))
