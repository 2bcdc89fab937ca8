"""DeleteRecords (key 21), v0-v2: move the start of a log forward; -1 means up to the high watermark.

If a partition is named more than once, the last one applies, as in Kafka.
"""

from collections.abc import Iterable

from penstock.cluster.metadata.topic_names import is_internal
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import delete_records as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic
from penstock.storage.errors import LogError

VERSIONS = range(3)


async def handle(ctx: RequestContext, request: api.DeleteRecordsRequest) -> api.DeleteRecordsResponse:
    topics: dict[str, dict[int, api.DeleteRecordsPartition]] = {}
    for topic in request.topics:
        topics.setdefault(topic.name, {}).update((p.partition_index, p) for p in topic.partitions)
    return api.DeleteRecordsResponse(
        topics=[
            api.DeleteRecordsTopicResult(
                name=name, partitions=await _delete_of(ctx, name, partitions.values())
            )
            for name, partitions in topics.items()
        ]
    )


async def _delete_of(
    ctx: RequestContext, topic: str, partitions: Iterable[api.DeleteRecordsPartition]
) -> list[api.DeleteRecordsPartitionResult]:
    if not may_topic(ctx, Operation.DELETE, topic):
        return [_failed(wanted, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for wanted in partitions]
    return [await _delete_one(ctx, topic, wanted) for wanted in partitions]


async def _delete_one(
    ctx: RequestContext, topic: str, wanted: api.DeleteRecordsPartition
) -> api.DeleteRecordsPartitionResult:
    leader = ctx.broker.replicas.leader_of(topic, wanted.partition_index)
    if not isinstance(leader, Replica):
        return _failed(wanted, leader)
    if leader.is_read_only:
        return _failed(wanted, ErrorCode.POLICY_VIOLATION)
    if is_internal(topic):
        return _failed(wanted, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if "delete" not in leader.log.config.cleanup_policy:
        return _failed(wanted, ErrorCode.POLICY_VIOLATION)
    offset = leader.high_watermark if wanted.offset == -1 else wanted.offset
    if not 0 <= offset <= leader.high_watermark:
        return _failed(wanted, ErrorCode.OFFSET_OUT_OF_RANGE)
    try:
        await ctx.broker.replicas.delete_records(leader, offset)
    except LogError as error:
        return _failed(wanted, error.code)
    return api.DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=leader.log.log_start_offset, error_code=0
    )


def _failed(wanted: api.DeleteRecordsPartition, code: ErrorCode) -> api.DeleteRecordsPartitionResult:
    return api.DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=-1, error_code=code
    )
