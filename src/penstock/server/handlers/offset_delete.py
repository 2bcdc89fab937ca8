"""OffsetDelete (key 47), v0: forget offsets of topics that a group no longer reads (KIP-496)."""

from collections.abc import Awaitable

from penstock.groups.committing import delete_offsets
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: OffsetDeleteRequest) -> Awaitable[OffsetDeleteResponse]:
    return _delete(ctx, request)


async def _delete(ctx: RequestContext, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
    image = ctx.broker.controller.image
    wanted = [(topic.name, p.partition_index) for topic in request.topics for p in topic.partitions]
    existing = [each for each in wanted if image.partition(*each) is not None]
    answer = delete_offsets(ctx.broker.groups, request.group_id, existing)
    codes = await answer if isinstance(answer, Awaitable) else answer
    if isinstance(codes, ErrorCode):
        return OffsetDeleteResponse(error_code=codes)
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=p.partition_index,
                        error_code=codes.get(
                            (topic.name, p.partition_index), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                        ),
                    )
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
