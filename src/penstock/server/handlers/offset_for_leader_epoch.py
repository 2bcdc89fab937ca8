"""OffsetForLeaderEpoch (key 23), v2-v4: where an epoch ended, so that a client or follower can find divergence."""

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import denied_topics

VERSIONS = range(2, 5)


def handle(ctx: RequestContext, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    denied = _denied(ctx, request)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochEndOffset(partition=p.partition, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                    if topic.topic in denied
                    else _end_of_epoch(ctx, topic.topic, p)
                    for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _denied(ctx: RequestContext, request: OffsetForLeaderEpochRequest) -> set[bytes | str]:
    """Brokers may ask about every topic, consumers about topics that they may describe (KIP-320)."""
    if ctx.may_in_cluster(Operation.CLUSTER_ACTION):
        return set()
    return denied_topics(ctx, Operation.DESCRIBE, (topic.topic for topic in request.topics))


def _end_of_epoch(ctx: RequestContext, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    leader = ctx.broker.replicas.leader_of(topic, wanted.partition)
    if not isinstance(leader, Replica):
        return EpochEndOffset(partition=wanted.partition, error_code=leader)
    code = leader.check_epoch(wanted.current_leader_epoch)
    if code:
        return EpochEndOffset(partition=wanted.partition, error_code=code)
    epoch, end_offset = leader.log.epoch_end_offset(wanted.leader_epoch)
    return EpochEndOffset(partition=wanted.partition, error_code=0, leader_epoch=epoch, end_offset=end_offset)
