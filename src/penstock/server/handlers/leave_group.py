"""LeaveGroup (key 13), v0-v5: leave a classic group at once instead of by timeout.

v3: several members, static ones by their instance id alone (KIP-345); before, the one member's error is the response's.
v5: with reasons (KIP-800), for our log only.
"""

import logging

from penstock.observability.completion import Reply
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.permissions import may_group

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
            log.debug("member %r leaves group %r: %s", member.member_id, request.group_id, member.reason)
    response = ctx.broker.groups.leave(request.group_id, members)
    if ctx.version >= _SEVERAL_FROM:
        return response
    if isinstance(response, Reply):
        return Reply.after(response, lambda done: _of_one(done.result()))
    return _of_one(response)


def _of_one(response: LeaveGroupResponse) -> LeaveGroupResponse:
    code = response.members[0].error_code if response.members else ErrorCode.NONE
    return LeaveGroupResponse(error_code=response.error_code or code)
