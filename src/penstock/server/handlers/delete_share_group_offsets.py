"""DeleteShareGroupOffsets (key 92), v0: forget what a share group without members has of topics."""

from collections.abc import Awaitable

from penstock.groups.consumer.errors import Refused
from penstock.groups.share import offsets
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.permissions import may_group, may_topic


def handle(
    ctx: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> Awaitable[DeleteShareGroupOffsetsResponse]:
    return _delete(ctx, request)


async def _delete(
    ctx: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse:
    groups = ctx.broker.groups
    if not groups.shares.is_offered:
        return DeleteShareGroupOffsetsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.DELETE, request.group_id):
        return DeleteShareGroupOffsetsResponse(
            error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message="Group authorization failed."
        )
    if not request.group_id:
        return DeleteShareGroupOffsetsResponse(error_code=ErrorCode.INVALID_GROUP_ID)
    shard = groups.find(request.group_id)
    if isinstance(shard, ErrorCode):
        return DeleteShareGroupOffsetsResponse(error_code=shard)
    names = list(dict.fromkeys(each.topic_name for each in request.topics))
    allowed = [name for name in names if may_topic(ctx, Operation.READ, name)]
    image = ctx.broker.controller.image
    try:
        deleted = await offsets.delete(groups.shares, shard, image, request.group_id, allowed)
    except Refused as refused:
        return DeleteShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.message)
    denied = [
        DeleteShareGroupOffsetsResponseTopic(
            topic_name=name,
            error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message="Topic authorization failed.",
        )
        for name in names
        if name not in allowed
    ]
    return DeleteShareGroupOffsetsResponse(responses=[*denied, *deleted])
