"""ListGroups (key 16), v0-v5: the groups that this broker coordinates; v4 filters by state, v5 by type.

Only groups that the client may describe; with permission to describe the cluster, all.
"""

from penstock.groups.admin import list_groups
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group

VERSIONS = range(6)


async def handle(ctx: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    listed = await list_groups(ctx.broker.groups, request.states_filter, request.types_filter)
    if isinstance(listed, ErrorCode):
        return ListGroupsResponse(error_code=listed)
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        listed = [each for each in listed if may_group(ctx, Operation.DESCRIBE, each.group_id)]
    return ListGroupsResponse(groups=listed)
