"""UpdateRaftVoter (key 82), v0: a voter announces its endpoints and versions (KIP-853)."""

from typing import Any

from penstock.protocol.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(1)


def handle(ctx: RequestContext, request: UpdateRaftVoterRequest) -> Any:
    return ask_quorum(ctx, request, UpdateRaftVoterResponse)
