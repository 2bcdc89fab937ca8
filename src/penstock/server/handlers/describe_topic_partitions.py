"""DescribeTopicPartitions (key 75), v0: topics with all their partitions, a page at a time (KIP-966).

Topics come in order of name. A page ends at `response_partition_limit` partitions; `next_cursor` says where the next
one begins, and a request's cursor skips what lies before it.
"""

from penstock.cluster.metadata.state import Topic
from penstock.cluster.topic_names import invalid_name_reason
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from penstock.security.operations import TOPIC_OPERATIONS, bit_field
from penstock.server.context import RequestContext
from penstock.server.handlers.metadata import offline

_PAGE_PARTITIONS_MAX = 2000  # Kafka's max.request.partition.size.limit


def handle(ctx: RequestContext, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    image = ctx.broker.controller.image
    names = sorted({t.name for t in request.topics} or image.topics)
    first_partition = 0
    if request.cursor is not None:
        names = [n for n in names if n >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first_partition = request.cursor.partition_index
    room = max(1, min(request.response_partition_limit, _PAGE_PARTITIONS_MAX))
    topics: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        topic = image.topics.get(name)
        if topic is None:
            topics.append(_unknown(name))
            continue
        if room == 0:
            return _page(topics, ResponseCursor(topic_name=name, partition_index=0))
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


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if invalid_name_reason(name) is None
        else ErrorCode.INVALID_TOPIC_EXCEPTION
    )
    return DescribeTopicPartitionsResponseTopic(name=name, error_code=code)


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
        is_internal=image.is_internal(topic.name),
        error_code=0,
        partitions=partitions,
        topic_authorized_operations=bit_field(TOPIC_OPERATIONS),
    )
