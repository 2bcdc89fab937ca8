"""AlterPartitionReassignments (key 45), v0-v1: move partitions to other brokers, or call it off (KIP-455, KIP-860)."""

from collections.abc import Sequence
from itertools import groupby

from penstock.cluster.controller.reassignments import Move, Moved
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_partition_reassignments as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(2)


async def handle(
    ctx: RequestContext, request: api.AlterPartitionReassignmentsRequest
) -> api.AlterPartitionReassignmentsResponse:
    moves = [
        Move(
            topic=topic.name,
            partition=each.partition_index,
            replicas=None if each.replicas is None else tuple(each.replicas),
        )
        for topic in request.topics
        for each in topic.partitions
    ]
    may_change = request.allow_replication_factor_change
    if not ctx.may_in_cluster(Operation.ALTER):
        refusal = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _response(request, _failed(moves, refusal, None), refusal)
    try:
        moved = await ctx.broker.controller.reassign(moves, may_change_factor=may_change)
    except LogError as error:  # the metadata log takes no records: nothing has changed
        moved = _failed(moves, error.code, error.client_message)
    return _response(request, moved)


def _failed(moves: Sequence[Move], code: ErrorCode, message: str | None) -> list[Moved]:
    return [Moved(topic=each.topic, partition=each.partition, error=code, message=message) for each in moves]


def _response(
    request: api.AlterPartitionReassignmentsRequest, moved: Sequence[Moved], code: ErrorCode = ErrorCode.NONE
) -> api.AlterPartitionReassignmentsResponse:
    return api.AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=code,
        error_message=None,
        responses=[
            api.ReassignableTopicResponse(
                name=name,
                partitions=[
                    api.ReassignablePartitionResponse(
                        partition_index=each.partition, error_code=each.error, error_message=each.message
                    )
                    for each in group
                ],
            )
            for name, group in groupby(moved, key=lambda each: each.topic)
        ],
    )
