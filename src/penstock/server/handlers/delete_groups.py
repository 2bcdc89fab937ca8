"""DeleteGroups (key 42), v0-v2: remove groups that have no members, with their offsets."""

from penstock.groups.admin import delete_groups
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group

VERSIONS = range(3)


async def handle(ctx: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    named = list(dict.fromkeys(request.groups_names))
    allowed = [group_id for group_id in named if may_group(ctx, Operation.DELETE, group_id)]
    codes = dict.fromkeys(named, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    codes |= await delete_groups(ctx.broker.groups, allowed)
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group_id, error_code=code) for group_id, code in codes.items()]
    )
