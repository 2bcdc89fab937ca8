"""DeleteShareGroupOffsets (key 92), v0: delete the offsets of topics of a share group without members."""

from collections.abc import Awaitable

from penstock.groups.services import share_offsets
from penstock.groups.services.base import Shard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import delete_share_group_offsets as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.group_requests import change_share_offsets
from penstock.server.handlers.shared.permissions import may_topic

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: api.DeleteShareGroupOffsetsRequest
) -> Awaitable[api.DeleteShareGroupOffsetsResponse]:
    async def delete(shard: Shard) -> list[api.DeleteShareGroupOffsetsResponseTopic]:
        names = list(dict.fromkeys(each.topic_name for each in request.topics))
        allowed = [name for name in names if may_topic(ctx, Operation.READ, name)]
        shares, image = ctx.broker.groups.shares, ctx.broker.controller.image
        deleted = await share_offsets.delete(shares, shard, image, request.group_id, allowed)
        denied = [_denied(name) for name in names if name not in allowed]
        return [*denied, *deleted]

    return change_share_offsets(
        ctx, request.group_id, Operation.DELETE, delete, api.DeleteShareGroupOffsetsResponse
    )


def _denied(name: str) -> api.DeleteShareGroupOffsetsResponseTopic:
    return api.DeleteShareGroupOffsetsResponseTopic(
        topic_name=name,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="Topic authorization failed.",
    )
