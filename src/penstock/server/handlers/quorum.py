"""All that nodes of the metadata quorum say to each other, and what clients ask about it (KIP-595, KIP-630, KIP-853).

Vote (52), BeginQuorumEpoch (53), EndQuorumEpoch (54), DescribeQuorum (55), FetchSnapshot (59), AddRaftVoter (80),
RemoveRaftVoter (81), UpdateRaftVoter (82), and Fetch (1) of the metadata log: the state machine answers, in its time.
"""

from collections.abc import Awaitable
from typing import Any

from penstock.cluster.raft import wire
from penstock.server.connection_host import CloseConnection
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: Any) -> Awaitable[Any]:
    return _ask(ctx, request)


async def _ask(ctx: RequestContext, message: Any) -> Any:
    try:
        request = wire.decode_request(message)
    except wire.NotTheQuorum as error:
        raise CloseConnection("it asks about a quorum that there is none of") from error
    return wire.encode_response(request, await ctx.broker.quorum.ask(request))
