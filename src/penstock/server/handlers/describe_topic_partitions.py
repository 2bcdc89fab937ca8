"""DescribeTopicPartitions (key 75), v0: topics with all their partitions, a page at a time (KIP-966).

Topics come in order of name. A page ends at `response_partition_limit` partitions; `next_cursor` says where the next
page begins, and a request's cursor skips everything before it. Topics that may not be described are left out when all
topics are requested; for requested topics, the response does not reveal whether they exist.
"""

from penstock.cluster.metadata.state import Topic
from penstock.cluster.metadata.topic_names import invalid_name_reason, is_internal
from penstock.config.settings.network import MAX_REQUEST_PARTITION_SIZE_LIMIT
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from penstock.security.operations import NOT_ASKED, Operation
from penstock.security.resources import ResourceType
from penstock.server.context import RequestContext
from penstock.server.handlers.metadata import offline
from penstock.server.handlers.shared.permissions import denied_topics, permitted_operations

VERSIONS = range(1)


def handle(ctx: RequestContext, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    image = ctx.broker.controller.image
    names = sorted({t.name for t in request.topics} or image.topics)
    cursor = request.cursor
    if cursor is not None:
        if cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names):
            return _page([_failed(t.name, ErrorCode.INVALID_REQUEST) for t in request.topics], None)
        names = [n for n in names if n >= cursor.topic_name]
    denied = denied_topics(ctx, Operation.DESCRIBE, names)
    first_partition = cursor.partition_index if cursor and names[:1] == [cursor.topic_name] else 0
    room = max(1, min(request.response_partition_limit, ctx.broker.config[MAX_REQUEST_PARTITION_SIZE_LIMIT]))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        if name in denied:
            if request.topics:
                topics.append(_failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            continue
        if room == 0:
            return _page(topics, ResponseCursor(topic_name=name, partition_index=0))
        topic = image.topics.get(name)
        if topic is None:
            topics.append(_unknown(ctx, name))
            continue
        indexes = sorted(i for i in topic.partitions if i >= first_partition)
        first_partition = 0
        topics.append(_describe(ctx, topic, indexes[:room]))
        if len(indexes) > room:
            return _page(topics, ResponseCursor(topic_name=name, partition_index=indexes[room]))
        room -= len(indexes)
    return _page(topics, None)


def _page(
    topics: list[DescribeTopicPartitionsResponseTopic], cursor: ResponseCursor | None
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)


def _unknown(ctx: RequestContext, name: str) -> DescribeTopicPartitionsResponseTopic:
    code = (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if invalid_name_reason(name) is None
        else ErrorCode.INVALID_TOPIC_EXCEPTION
    )
    return _failed(name, code, permitted_operations(ctx, ResourceType.TOPIC, name))


def _failed(name: str, code: ErrorCode, operations: int = NOT_ASKED) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=name, error_code=code, is_internal=is_internal(name), topic_authorized_operations=operations
    )


def _describe(ctx: RequestContext, topic: Topic, indexes: list[int]) -> DescribeTopicPartitionsResponseTopic:
    image = ctx.broker.controller.image
    partitions = []
    for index in indexes:
        p = topic.partitions[index]
        partitions.append(
            DescribeTopicPartitionsResponsePartition(
                error_code=ErrorCode.NONE if p.leader >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=p.leader,
                leader_epoch=p.leader_epoch,
                replica_nodes=list(p.replicas),
                isr_nodes=list(p.isr),
                eligible_leader_replicas=list(p.elr),
                last_known_elr=list(p.last_known_elr),
                offline_replicas=offline(image, p.replicas),
            )
        )
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        error_code=0,
        partitions=partitions,
        topic_authorized_operations=permitted_operations(ctx, ResourceType.TOPIC, topic.name),
    )
