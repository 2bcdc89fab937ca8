"""ShareGroupDescribe (key 77), v1: epochs, members and assignments of share groups (KIP-932).

A group with a topic that may not be described is not described.
"""

import msgspec

from penstock.groups.consumer.errors import Refused
from penstock.groups.share.describe import described
from penstock.groups.share.service import find_share_group
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.context import RequestContext
from penstock.server.permissions import denied_topics, may_group, permitted_operations


async def handle(ctx: RequestContext, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=[await _describe(ctx, request, group_id) for group_id in dict.fromkeys(request.group_ids)]
    )


async def _describe(ctx: RequestContext, request: ShareGroupDescribeRequest, group_id: str) -> DescribedGroup:
    groups = ctx.broker.groups
    if not groups.shares.is_offered:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.DESCRIBE, group_id):
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    shard = groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=shard)
    try:
        group = find_share_group(shard.state, group_id)
    except Refused as refused:
        return DescribedGroup(group_id=group_id, error_code=refused.code, error_message=refused.message)
    found = await groups.shards.once_settled(group_id, described(group, ctx.broker.controller.image))
    if isinstance(found, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=found)
    topics = {each.topic_name for member in found.members for each in member.assignment.topic_partitions}
    if denied_topics(ctx, Operation.DESCRIBE, topics):
        return DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="The group has described topic(s) that the client is not authorized to describe.",
        )
    if request.include_authorized_operations:
        permitted = permitted_operations(ctx, ResourceType.GROUP, group_id)
        return msgspec.structs.replace(found, authorized_operations=permitted)
    return found
