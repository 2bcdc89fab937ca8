"""ElectLeaders (key 43), v0-v2: elect the preferred leader of partitions, or any leader at all (KIP-460)."""

from collections.abc import Sequence
from itertools import groupby

import msgspec

from penstock.cluster.controller.elect_leaders import Elected
from penstock.cluster.controller.partition_change import Election
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import elect_leaders as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(3)

_ERROR_FROM = 1
_ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}

_Partitions = Sequence[tuple[str, int]] | None


async def handle(ctx: RequestContext, request: api.ElectLeadersRequest) -> api.ElectLeadersResponse:
    named = request.topic_partitions
    wanted = None if named is None else [(each.topic, number) for each in named for number in each.partitions]
    election = _ELECTIONS.get(request.election_type)
    if not ctx.may_in_cluster(Operation.ALTER):
        return _refused(ctx, wanted, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if election is None:
        message = f"Unknown election type {request.election_type}"
        return _refused(ctx, wanted, ErrorCode.INVALID_REQUEST, message)
    try:
        return _response(await ctx.broker.controller.elect_leaders(wanted, election))
    except LogError as error:  # the metadata log takes no records: nothing has changed
        return _response(_failed(wanted, error.code, error.client_message))


def _refused(
    ctx: RequestContext, wanted: _Partitions, code: ErrorCode, message: str | None = None
) -> api.ElectLeadersResponse:
    response = _response(_failed(wanted, code, message))
    return msgspec.structs.replace(response, error_code=code) if ctx.version >= _ERROR_FROM else response


def _failed(wanted: _Partitions, code: ErrorCode, message: str | None) -> list[Elected]:
    return [
        Elected(topic=name, partition=number, error=code, message=message) for name, number in wanted or ()
    ]


def _response(elected: Sequence[Elected]) -> api.ElectLeadersResponse:
    return api.ElectLeadersResponse(
        replica_election_results=[
            api.ReplicaElectionResult(
                topic=topic,
                partition_result=[
                    api.PartitionResult(
                        partition_id=each.partition, error_code=each.error, error_message=each.message
                    )
                    for each in group
                ],
            )
            for topic, group in groupby(elected, key=lambda each: each.topic)
        ]
    )
