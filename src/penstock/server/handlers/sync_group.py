"""SyncGroup (key 14), v0-v5: the leader sends the assignment; every member gets its part once it is committed.

v5: the request must name the member's protocol (KIP-559).
"""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from penstock.runtime.completion import Reply
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group

VERSIONS = range(6)

_PROTOCOL_REQUIRED_FROM = 5


def handle(ctx: RequestContext, request: SyncGroupRequest) -> SyncGroupResponse | Reply[SyncGroupResponse]:
    is_named = request.protocol_type is not None and request.protocol_name is not None
    if ctx.version >= _PROTOCOL_REQUIRED_FROM and not is_named:
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not may_group(ctx, Operation.READ, request.group_id):
        return SyncGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return ctx.broker.groups.sync(request)
