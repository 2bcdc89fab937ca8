"""CreatePartitions (key 37), v0-v3: give topics more partitions."""

from collections.abc import Awaitable

from penstock.cluster.controller.create_partitions import GrownTopic
from penstock.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: CreatePartitionsRequest) -> Awaitable[CreatePartitionsResponse]:
    return _grow(ctx, request)


async def _grow(ctx: RequestContext, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    grown = await ctx.broker.controller.create_partitions(
        [
            GrownTopic(
                name=t.name,
                count=t.count,
                assignments=None if t.assignments is None else [a.broker_ids for a in t.assignments],
            )
            for t in request.topics
        ],
        validate_only=request.validate_only,
    )
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=t.name, error_code=t.error, error_message=t.message)
            for t in grown
        ]
    )
