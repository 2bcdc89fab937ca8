"""CreateTopics (key 19), v2-v7: make topics, or only check that they could be made."""

from collections.abc import Awaitable

from penstock.cluster.controller.create_topics import NewTopic, TopicCreated
from penstock.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from penstock.server.context import RequestContext
from penstock.storage.log_errors import LogError


def handle(ctx: RequestContext, request: CreateTopicsRequest) -> Awaitable[CreateTopicsResponse]:
    return _create(ctx, request)


async def _create(ctx: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    try:
        created = await ctx.broker.controller.create_topics(
            [_new_topic(topic) for topic in request.topics], validate_only=request.validate_only
        )
    except LogError as error:  # the metadata log takes no records: nothing was created
        created = [TopicCreated(name=t.name, error=error.code, message=str(error)) for t in request.topics]
    return CreateTopicsResponse(topics=[_result(topic) for topic in created])


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(a.partition_index, a.broker_ids) for a in topic.assignments],
        configs=[(c.name, c.value) for c in topic.configs],
    )


def _result(topic: TopicCreated) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_code=topic.error,
        error_message=topic.message,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        configs=[
            CreatableTopicConfigs(
                name=c.name,
                value=c.value,
                read_only=c.read_only,
                config_source=c.source,
                is_sensitive=c.sensitive,
            )
            for c in topic.configs
        ],
    )
