"""JoinGroup (key 11), v0-v9: join a classic group; the response waits until all members have joined.

v0 has no rebalance timeout and uses the session timeout. v4: a new member first gets its id (KIP-394). v5: static
members (KIP-345). v7: the group's protocol type, and null for no protocol. v8: the client's reason (KIP-800), for our
log only. v9: a leader may have to keep the assignment (KIP-814).
"""

import logging

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from penstock.runtime.completion import Reply
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group

VERSIONS = range(10)

log = logging.getLogger(__name__)

_NULL_PROTOCOL_FROM = 7


def handle(ctx: RequestContext, request: JoinGroupRequest) -> JoinGroupResponse | Reply[JoinGroupResponse]:
    if not may_group(ctx, Operation.READ, request.group_id):
        refused = JoinGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, protocol_name=None)
        return _in_version(refused, ctx.version)
    if request.reason:
        log.debug(
            "Member joins the group. group=%s member=%s reason=%s",
            request.group_id,
            request.member_id,
            request.reason,
        )
    if ctx.version == 0:
        request = msgspec.structs.replace(request, rebalance_timeout_ms=request.session_timeout_ms)
    response = ctx.broker.groups.join(
        request, client_id=ctx.client_id or "", client_host=f"/{ctx.peer.host}", version=ctx.version
    )
    if isinstance(response, JoinGroupResponse):
        return _in_version(response, ctx.version)
    return Reply.after(response, lambda done: _in_version(done.result(), ctx.version))


def _in_version(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    if version < _NULL_PROTOCOL_FROM and response.protocol_name is None:
        return msgspec.structs.replace(response, protocol_name="")
    return response
