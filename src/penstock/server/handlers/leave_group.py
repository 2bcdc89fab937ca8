"""LeaveGroup (key 13), v0-v5: leave a classic group without waiting for the session timeout.

v3: several members, static ones by their instance id alone (KIP-345); before, the one member's error is the response's.
v5: with reasons (KIP-800), for our log only.
"""

import logging

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from penstock.runtime.completion import Reply
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group

VERSIONS = range(6)

log = logging.getLogger(__name__)

_SEVERAL_FROM = 3


def handle(ctx: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse | Reply[LeaveGroupResponse]:
    if not may_group(ctx, Operation.READ, request.group_id):
        return LeaveGroupResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    members = request.members
    if ctx.version < _SEVERAL_FROM:
        members = [MemberIdentity(member_id=request.member_id)]
    for member in members:
        if member.reason:
            log.debug(
                "A member leaves. group=%s member=%s reason=%s",
                request.group_id,
                member.member_id,
                member.reason,
            )
    response = ctx.broker.groups.leave(request.group_id, members)
    if ctx.version >= _SEVERAL_FROM:
        return response
    if isinstance(response, Reply):
        return Reply.after(response, lambda done: _of_one(done.result()))
    return _of_one(response)


def _of_one(response: LeaveGroupResponse) -> LeaveGroupResponse:
    code = response.members[0].error_code if response.members else ErrorCode.NONE
    return LeaveGroupResponse(error_code=response.error_code or code)
