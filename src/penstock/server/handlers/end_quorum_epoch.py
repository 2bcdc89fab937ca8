"""EndQuorumEpoch (key 54), v0-v1: a leader of the metadata quorum resigns (KIP-595)."""

from typing import Any

from penstock.protocol.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(2)


def handle(ctx: RequestContext, request: EndQuorumEpochRequest) -> Any:
    return ask_quorum(ctx, request, EndQuorumEpochResponse)
