"""RemoveRaftVoter (key 81), v0: remove a voter from the metadata quorum (KIP-853)."""

from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(1)


def handle(ctx: RequestContext, request: RemoveRaftVoterRequest) -> Any:
    if not ctx.may_in_cluster(Operation.ALTER):
        return RemoveRaftVoterResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return ask_quorum(ctx, request, RemoveRaftVoterResponse)
