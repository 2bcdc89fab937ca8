"""ElectLeaders (key 43), v0-v2: give partitions their preferred leader, or any leader at all (KIP-460)."""

from collections.abc import Awaitable
from itertools import groupby

from penstock.cluster.controller.elect_leaders import Elected
from penstock.cluster.controller.partition_change import Election
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(3)

_ERROR_FROM = 1
_ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}


def handle(
    ctx: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse | Awaitable[ElectLeadersResponse]:
    if not ctx.may_in_cluster(Operation.ALTER):
        return _refused(ctx, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        return _refused(
            ctx, request, ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}"
        )
    return _elect(ctx, request, election)


def _refused(
    ctx: RequestContext, request: ElectLeadersRequest, code: ErrorCode, message: str | None = None
) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=code if ctx.version >= _ERROR_FROM else ErrorCode.NONE,
        replica_election_results=[
            ReplicaElectionResult(
                topic=each.topic,
                partition_result=[
                    PartitionResult(partition_id=number, error_code=code, error_message=message)
                    for number in each.partitions
                ],
            )
            for each in request.topic_partitions or ()
        ],
    )


async def _elect(
    ctx: RequestContext, request: ElectLeadersRequest, election: Election
) -> ElectLeadersResponse:
    wanted = (
        None
        if request.topic_partitions is None
        else [(each.topic, number) for each in request.topic_partitions for number in each.partitions]
    )
    try:
        elected = await ctx.broker.controller.elect_leaders(wanted, election)
    except LogError as error:  # the metadata log takes no records: nothing has changed
        elected = [
            Elected(topic=name, partition=number, error=error.code, message=error.client_message)
            for name, number in wanted or ()
        ]
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic,
                partition_result=[
                    PartitionResult(
                        partition_id=each.partition, error_code=each.error, error_message=each.message
                    )
                    for each in group
                ],
            )
            for topic, group in groupby(elected, key=lambda each: each.topic)
        ]
    )
