"""OffsetDelete (key 47), v0: delete offsets of topics that a group no longer subscribes to (KIP-496)."""

from collections.abc import Awaitable

from penstock.groups.offset_requests import delete_offsets
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import offset_delete as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import denied_topics, may_group

VERSIONS = range(1)


async def handle(ctx: RequestContext, request: api.OffsetDeleteRequest) -> api.OffsetDeleteResponse:
    if not may_group(ctx, Operation.DELETE, request.group_id):
        return api.OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if not request.group_id:
        return api.OffsetDeleteResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    denied = denied_topics(ctx, Operation.READ, (topic.name for topic in request.topics))
    image = ctx.broker.controller.image
    wanted = [
        (topic.name, p.partition_index)
        for topic in request.topics
        if topic.name not in denied
        for p in topic.partitions
    ]
    existing = [each for each in wanted if image.partition(*each) is not None]
    response = delete_offsets(ctx.broker.groups, request.group_id, existing)
    codes = await response if isinstance(response, Awaitable) else response
    if isinstance(codes, ErrorCode):
        return api.OffsetDeleteResponse(error_code=codes)
    return api.OffsetDeleteResponse(
        topics=[
            api.OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    api.OffsetDeleteResponsePartition(
                        partition_index=p.partition_index,
                        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED
                        if topic.name in denied
                        else codes.get((topic.name, p.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
                    )
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
