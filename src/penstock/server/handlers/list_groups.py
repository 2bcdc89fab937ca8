"""ListGroups (key 16), v0-v5: the groups that this broker coordinates; v4 filters by state, v5 by type."""

from penstock.groups.admin import list_groups
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: ListGroupsRequest) -> ListGroupsResponse:
    listed = list_groups(ctx.broker.groups, request.states_filter, request.types_filter)
    if isinstance(listed, ErrorCode):
        return ListGroupsResponse(error_code=listed)
    return ListGroupsResponse(groups=listed)
