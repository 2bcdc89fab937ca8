"""Vote (key 52), v0-v2: a candidate asks for a vote in the metadata quorum (KIP-595)."""

from typing import Any

from penstock.protocol.messages.vote import VoteRequest, VoteResponse
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(3)


def handle(ctx: RequestContext, request: VoteRequest) -> Any:
    return ask_quorum(ctx, request, VoteResponse)
