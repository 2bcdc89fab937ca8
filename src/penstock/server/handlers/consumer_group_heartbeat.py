"""ConsumerGroupHeartbeat (key 68), v0-v1: join, stay in and leave a KIP-848 group, and get an assignment.

v1: members generate their ids (KIP-1082) and may subscribe to a pattern. Epoch 0 joins, -1 leaves, -2 leaves
temporarily (static members).
"""

from functools import partial

from penstock.groups.base.member import Client
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import consumer_group_heartbeat as api
from penstock.runtime.completion import Reply
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import denied_topics, may_group, may_topic

VERSIONS = range(2)


def handle(
    ctx: RequestContext, request: api.ConsumerGroupHeartbeatRequest
) -> api.ConsumerGroupHeartbeatResponse | Reply[api.ConsumerGroupHeartbeatResponse]:
    groups = ctx.broker.groups
    if not groups.consumers.is_enabled:
        return api.ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.READ, request.group_id):
        return api.ConsumerGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if denied_topics(ctx, Operation.DESCRIBE, request.subscribed_topic_names or ()):
        return api.ConsumerGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    shard = groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return api.ConsumerGroupHeartbeatResponse(error_code=shard)
    client = Client(ctx.client_id or "", f"/{ctx.peer.host}", partial(may_topic, ctx, Operation.DESCRIBE))
    return groups.consumers.heartbeat(shard, request, client, ctx.version)
