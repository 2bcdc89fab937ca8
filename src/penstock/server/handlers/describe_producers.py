"""DescribeProducers (key 61), v0: the active producers of a partition."""

from penstock.cluster.metadata.topic_names import invalid_name_reason
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_producers as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic

VERSIONS = range(1)

_MESSAGES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "This node is not the leader of the partition: ask for metadata again.",
}


def handle(ctx: RequestContext, request: api.DescribeProducersRequest) -> api.DescribeProducersResponse:
    return api.DescribeProducersResponse(
        topics=[
            api.TopicResponse(
                name=topic.name,
                partitions=[_describe(ctx, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _describe(ctx: RequestContext, topic: str, index: int) -> api.PartitionResponse:
    invalid = invalid_name_reason(topic)
    if invalid is not None:
        return api.PartitionResponse(
            partition_index=index, error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, error_message=invalid
        )
    if not may_topic(ctx, Operation.READ, topic):
        return api.PartitionResponse(
            partition_index=index, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=None
        )
    leader = ctx.broker.replicas.leader_of(topic, index)
    if not isinstance(leader, Replica):
        return api.PartitionResponse(
            partition_index=index, error_code=leader, error_message=_MESSAGES.get(leader)
        )
    return api.PartitionResponse(
        partition_index=index,
        error_code=0,
        active_producers=[
            api.ProducerState(
                producer_id=p.producer_id,
                producer_epoch=p.producer_epoch,
                last_sequence=p.last_sequence,
                last_timestamp=p.last_timestamp,
                coordinator_epoch=p.coordinator_epoch,
                current_txn_start_offset=-1
                if p.transaction_first_offset is None
                else p.transaction_first_offset,
            )
            for p in leader.log.producers
        ],
    )
