"""AlterShareGroupOffsets (key 91), v0: set where a share group without members starts. Makes the group if need be."""

from collections.abc import Awaitable

from penstock.groups.consumer.errors import Refused
from penstock.groups.share import offsets
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.permissions import may_group, may_topic


def handle(
    ctx: RequestContext, request: AlterShareGroupOffsetsRequest
) -> Awaitable[AlterShareGroupOffsetsResponse]:
    return _alter(ctx, request)


async def _alter(
    ctx: RequestContext, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse:
    groups = ctx.broker.groups
    if not groups.shares.is_offered:
        return AlterShareGroupOffsetsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.READ, request.group_id):
        return AlterShareGroupOffsetsResponse(
            error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message="Group authorization failed."
        )
    if not request.group_id:
        return AlterShareGroupOffsetsResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    shard = groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return AlterShareGroupOffsetsResponse(error_code=shard)
    allowed = [each for each in request.topics if may_topic(ctx, Operation.READ, each.topic_name)]
    image = ctx.broker.controller.image
    try:
        altered = await offsets.alter(groups.shares, shard, image, request.group_id, allowed)
    except Refused as refused:
        return AlterShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.message)
    denied = [_denied(ctx, each) for each in request.topics if each not in allowed]
    return AlterShareGroupOffsetsResponse(responses=[*denied, *altered])


def _denied(
    ctx: RequestContext, wanted: AlterShareGroupOffsetsRequestTopic
) -> AlterShareGroupOffsetsResponseTopic:
    topic = ctx.broker.controller.image.topics.get(wanted.topic_name)
    return AlterShareGroupOffsetsResponseTopic(
        topic_name=wanted.topic_name,
        topic_id=ZERO_UUID if topic is None else topic.topic_id,
        partitions=[
            AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index,
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                error_message="Topic authorization failed.",
            )
            for each in wanted.partitions
        ],
    )
