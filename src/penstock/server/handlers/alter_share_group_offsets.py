"""AlterShareGroupOffsets (key 91), v0: set the start offsets of a share group without members. Creates the group."""

from collections.abc import Awaitable

from penstock.groups.services import share_offsets
from penstock.groups.services.base import Shard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_share_group_offsets as api
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.group_requests import change_share_offsets
from penstock.server.handlers.shared.permissions import may_topic

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: api.AlterShareGroupOffsetsRequest
) -> Awaitable[api.AlterShareGroupOffsetsResponse]:
    async def alter(shard: Shard) -> list[api.AlterShareGroupOffsetsResponseTopic]:
        allowed = [each for each in request.topics if may_topic(ctx, Operation.READ, each.topic_name)]
        shares, image = ctx.broker.groups.shares, ctx.broker.controller.image
        altered = await share_offsets.alter(shares, shard, image, request.group_id, allowed)
        return [*(_denied(ctx, each) for each in request.topics if each not in allowed), *altered]

    return change_share_offsets(
        ctx, request.group_id, Operation.READ, alter, api.AlterShareGroupOffsetsResponse
    )


def _denied(
    ctx: RequestContext, wanted: api.AlterShareGroupOffsetsRequestTopic
) -> api.AlterShareGroupOffsetsResponseTopic:
    topic = ctx.broker.controller.image.topics.get(wanted.topic_name)
    return api.AlterShareGroupOffsetsResponseTopic(
        topic_name=wanted.topic_name,
        topic_id=ZERO_UUID if topic is None else topic.topic_id,
        partitions=[
            api.AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index,
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                error_message="Topic authorization failed.",
            )
            for each in wanted.partitions
        ],
    )
