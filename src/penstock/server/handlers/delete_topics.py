"""DeleteTopics (key 20), v1-v6: remove topics, by name or (v6) by id."""

from collections.abc import Awaitable

from penstock.cluster.controller.delete_topics import DoomedTopic, TopicDeleted
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from penstock.server.context import RequestContext
from penstock.storage.log_errors import LogError

_REFUSES_FROM = 5  # older clients know no THROTTLING_QUOTA_EXCEEDED (KIP-599)


def handle(ctx: RequestContext, request: DeleteTopicsRequest) -> Awaitable[DeleteTopicsResponse]:
    return _delete(ctx, request)


async def _delete(ctx: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    if ctx.version >= 6:
        doomed = [DoomedTopic(name=t.name, topic_id=t.topic_id) for t in request.topics]
    else:
        doomed = [DoomedTopic(name=name) for name in request.topic_names]
    quota = ctx.mutation_quota(strict_from=_REFUSES_FROM)
    try:
        deleted = await ctx.broker.controller.delete_topics(doomed, charge=quota.charge)
    except LogError as error:  # the metadata log takes no records: nothing was deleted
        deleted = [
            TopicDeleted(name=t.name, topic_id=t.topic_id, error=error.code, message=str(error))
            for t in doomed
        ]
    return DeleteTopicsResponse(
        throttle_time_ms=quota.wait_ms,
        responses=[
            DeletableTopicResult(
                name=t.name,
                topic_id=t.topic_id,
                error_code=_code_for(ctx.version, t.error),
                error_message=t.message,
            )
            for t in deleted
        ],
    )


def _code_for(version: int, code: ErrorCode) -> ErrorCode:
    """Clients before v3 do not know that deletion can be disabled."""
    is_unknown = code is ErrorCode.TOPIC_DELETION_DISABLED and version < 3
    return ErrorCode.INVALID_REQUEST if is_unknown else code
