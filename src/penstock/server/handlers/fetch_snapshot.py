"""FetchSnapshot (key 59), v0-v1: read a part of a snapshot of the metadata log (KIP-630)."""

from typing import Any

from penstock.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(2)


def handle(ctx: RequestContext, request: FetchSnapshotRequest) -> Any:
    return ask_quorum(ctx, request, FetchSnapshotResponse)
