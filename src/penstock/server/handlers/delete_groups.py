"""DeleteGroups (key 42), v0-v2: remove groups that have no members, with their offsets."""

from collections.abc import Awaitable

from penstock.groups.admin import delete_groups
from penstock.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: DeleteGroupsRequest) -> Awaitable[DeleteGroupsResponse]:
    return _delete(ctx, request)


async def _delete(ctx: RequestContext, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    codes = await delete_groups(ctx.broker.groups, request.groups_names)
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=group_id, error_code=code) for group_id, code in codes.items()]
    )
