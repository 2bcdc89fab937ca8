"""DescribeGroups (key 15), v0-v6: state and members of classic groups; v3 with permitted operations.

A group that does not exist is Dead; v6 also says GROUP_ID_NOT_FOUND (KIP-1043).
"""

import msgspec

from penstock.groups.admin import describe
from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group, permitted_operations

VERSIONS = range(7)

_NOT_FOUND_FROM = 6


async def handle(ctx: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[await _describe(ctx, request, group_id) for group_id in request.groups]
    )


async def _describe(ctx: RequestContext, request: DescribeGroupsRequest, group_id: str) -> DescribedGroup:
    if not may_group(ctx, Operation.DESCRIBE, group_id):
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    groups = ctx.broker.groups
    found = await groups.shards.after_commit(group_id, describe(groups, group_id))
    if found == ErrorCode.GROUP_ID_NOT_FOUND:
        found = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
        if ctx.version >= _NOT_FOUND_FROM:
            return msgspec.structs.replace(
                found,
                error_code=ErrorCode.GROUP_ID_NOT_FOUND,
                error_message=_missing(ctx, group_id),
            )
    elif isinstance(found, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=found)
    if request.include_authorized_operations:
        permitted = permitted_operations(ctx, ResourceType.GROUP, group_id)
        return msgspec.structs.replace(found, authorized_operations=permitted)
    return found


def _missing(ctx: RequestContext, group_id: str) -> str:
    shard = ctx.broker.groups.find(group_id)
    is_other = not isinstance(shard, ErrorCode) and (
        group_id in shard.state.consumers or group_id in shard.state.shares
    )
    return f"Group {group_id} {'is not a classic group' if is_other else 'not found'}."
