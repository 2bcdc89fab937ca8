"""DeleteTopics (key 20), v1-v6: remove topics, by name or (v6) by id."""

from collections.abc import Awaitable

from penstock.cluster.controller.delete_topics import DoomedTopic
from penstock.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: DeleteTopicsRequest) -> Awaitable[DeleteTopicsResponse]:
    return _delete(ctx, request)


async def _delete(ctx: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    if ctx.version >= 6:
        doomed = [DoomedTopic(name=t.name, topic_id=t.topic_id) for t in request.topics]
    else:
        doomed = [DoomedTopic(name=name) for name in request.topic_names]
    deleted = await ctx.broker.controller.delete_topics(doomed)
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=t.name, topic_id=t.topic_id, error_code=t.error, error_message=t.message
            )
            for t in deleted
        ]
    )
