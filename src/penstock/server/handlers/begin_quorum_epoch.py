"""BeginQuorumEpoch (key 53), v0-v1: a new leader of the metadata quorum announces its epoch (KIP-595)."""

from typing import Any

from penstock.protocol.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(2)


def handle(ctx: RequestContext, request: BeginQuorumEpochRequest) -> Any:
    return ask_quorum(ctx, request, BeginQuorumEpochResponse)
