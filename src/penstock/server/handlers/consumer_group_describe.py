"""ConsumerGroupDescribe (key 69), v0-v1: epochs, members and assignments of KIP-848 groups.

v1: which members still speak the classic protocol. A group with a topic that may not be described is not described.
"""

import msgspec

from penstock.groups.consumer.describe import described
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.context import RequestContext
from penstock.server.permissions import denied_topics, may_group, permitted_operations


async def handle(ctx: RequestContext, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[await _describe(ctx, request, group_id) for group_id in dict.fromkeys(request.group_ids)]
    )


async def _describe(
    ctx: RequestContext, request: ConsumerGroupDescribeRequest, group_id: str
) -> DescribedGroup:
    groups = ctx.broker.groups
    if not groups.consumers.is_offered:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.DESCRIBE, group_id):
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not group_id:
        return DescribedGroup(group_id=group_id, error_code=ErrorCode.INVALID_GROUP_ID)
    shard = groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=shard)
    group = shard.state.consumers.get(group_id)
    if group is None:
        is_other = group_id in shard.state.groups or group_id in shard.state.shares
        return DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} {'is not a consumer group' if is_other else 'not found'}.",
        )
    now = groups.consumers.situation(group_id)
    found = await groups.shards.once_settled(group_id, described(group, now.image, now.settings))
    if isinstance(found, ErrorCode):
        return DescribedGroup(group_id=group_id, error_code=found)
    if denied_topics(ctx, Operation.DESCRIBE, _topics_of(found)):
        return DescribedGroup(
            group_id=group_id,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="The group has described topic(s) that the client is not authorized to describe.",
        )
    if request.include_authorized_operations:
        permitted = permitted_operations(ctx, ResourceType.GROUP, group_id)
        return msgspec.structs.replace(found, authorized_operations=permitted)
    return found


def _topics_of(group: DescribedGroup) -> set[str]:
    return {
        each.topic_name
        for member in group.members
        for assignment in (member.assignment, member.target_assignment)
        for each in assignment.topic_partitions
    }
