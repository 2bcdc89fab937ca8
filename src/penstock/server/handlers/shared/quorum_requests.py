"""Requests to the state machine of the metadata quorum (KIP-595, KIP-630, KIP-853).

The handlers of Vote, BeginQuorumEpoch, EndQuorumEpoch, DescribeQuorum, FetchSnapshot, AddRaftVoter, RemoveRaftVoter and
UpdateRaftVoter end here, and so does a Fetch of the metadata log.
"""

from collections.abc import Awaitable
from typing import Any

from msgspec.structs import replace

from penstock.cluster.quorum import wire
from penstock.cluster.raft.errors import RaftFailed
from penstock.cluster.raft.messages import Request
from penstock.protocol.errors import ErrorCode
from penstock.server.connections import CloseConnection
from penstock.server.context import RequestContext

_ENDPOINTS_FROM = {
    "BeginQuorumEpochResponse": 1,
    "EndQuorumEpochResponse": 1,
    "FetchResponse": 16,
    "FetchSnapshotResponse": 1,
    "VoteResponse": 1,
}
"""The first version of a response that carries the endpoints of the leader (KIP-853)."""


def ask_quorum(ctx: RequestContext, request: Any, response_type: type[Any]) -> Any | Awaitable[Any]:
    """Pass a request to the state machine. A request that is not about the metadata log is INVALID_REQUEST."""
    try:
        asked = wire.decode_request(request)
    except wire.NotTheQuorum:
        return response_type(error_code=ErrorCode.INVALID_REQUEST)
    return _ask(ctx, asked)


async def _ask(ctx: RequestContext, request: Request) -> Any:
    try:
        answer = await ctx.broker.quorum.ask(request)
    except RaftFailed as error:
        raise CloseConnection(str(error)) from error
    response = wire.encode_response(request, answer)
    if ctx.version < _ENDPOINTS_FROM.get(type(response).__name__, 0):
        return replace(response, node_endpoints=[])
    return response
