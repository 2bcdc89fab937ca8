"""DeleteTopics (key 20), v1-v6: remove topics, by name or (v6) by id.

A client that may not describe a topic does not learn whether it exists, nor the name that an id belongs to.
"""

from collections import Counter
from collections.abc import Sequence

from penstock.cluster.controller.delete_topics import TopicDeleted, TopicToDelete
from penstock.config.settings.replication import DELETE_TOPIC_ENABLE
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import delete_topics as api
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic
from penstock.storage.errors import LogError

VERSIONS = range(1, 7)

_REFUSES_FROM = 5  # older clients know no THROTTLING_QUOTA_EXCEEDED (KIP-599)


async def handle(ctx: RequestContext, request: api.DeleteTopicsRequest) -> api.DeleteTopicsResponse:
    if ctx.version >= 6:
        to_delete = [TopicToDelete(name=t.name, topic_id=t.topic_id) for t in request.topics]
    else:
        to_delete = [TopicToDelete(name=name) for name in request.topic_names]
    refused = _refused(ctx, to_delete)
    to_delete = [each for each in to_delete if each not in refused]
    quota = ctx.mutation_quota(strict_from=_REFUSES_FROM)
    try:
        deleted = await ctx.broker.controller.delete_topics(to_delete, charge=quota.charge)
    except LogError as error:  # the metadata log takes no records: nothing was deleted
        deleted = [
            TopicDeleted(name=t.name, topic_id=t.topic_id, error=error.code, message=error.client_message)
            for t in to_delete
        ]
    return api.DeleteTopicsResponse(
        throttle_time_ms=quota.wait_ms,
        responses=[
            api.DeletableTopicResult(
                name=t.name,
                topic_id=t.topic_id,
                error_code=_code_for(ctx.version, t.error),
                error_message=t.message,
            )
            for t in [*deleted, *refused.values()]
        ],
    )


def _refused(ctx: RequestContext, to_delete: Sequence[TopicToDelete]) -> dict[TopicToDelete, TopicDeleted]:
    """The topics that may not be deleted. Errors in the request itself take precedence for every client."""
    if not ctx.broker.config[DELETE_TOPIC_ENABLE] or ctx.may_in_cluster(Operation.DELETE):
        return {}
    image = ctx.broker.controller.image
    refused = {}
    for topic, count in Counter(to_delete).items():
        by_id = image.topics_by_id.get(topic.topic_id)
        name = topic.name if by_id is None else by_id.name
        if count > 1 or name is None or (topic.name is not None and topic.topic_id != ZERO_UUID):
            continue
        is_hidden = not may_topic(ctx, Operation.DESCRIBE, name)
        is_there = by_id is not None or name in image.topics
        if is_hidden or (is_there and not may_topic(ctx, Operation.DELETE, name)):
            refused[topic] = TopicDeleted(
                name=None if is_hidden and topic.name is None else name,
                topic_id=topic.topic_id,
                error=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            )
    return refused


def _code_for(version: int, code: ErrorCode) -> ErrorCode:
    """Clients before v3 do not know that deletion can be disabled."""
    is_unknown = code is ErrorCode.TOPIC_DELETION_DISABLED and version < 3
    return ErrorCode.INVALID_REQUEST if is_unknown else code
