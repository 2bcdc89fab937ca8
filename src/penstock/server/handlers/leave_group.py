"""LeaveGroup (key 13), v0-v5: leave a classic group at once instead of by timeout.

v3: several members, static ones by their instance id alone (KIP-345); before, the one member's error is the response's.
v5: with reasons (KIP-800), for our log only.
"""

import logging

from penstock.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from penstock.server.context import RequestContext

log = logging.getLogger(__name__)

_SEVERAL_FROM = 3


def handle(ctx: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    members = request.members
    if ctx.version < _SEVERAL_FROM:
        members = [MemberIdentity(member_id=request.member_id)]
    for member in members:
        if member.reason:
            log.debug("member %r leaves group %r: %s", member.member_id, request.group_id, member.reason)
    response = ctx.broker.groups.leave(request.group_id, members)
    if ctx.version < _SEVERAL_FROM and response.members:
        return LeaveGroupResponse(error_code=response.error_code or response.members[0].error_code)
    return response
