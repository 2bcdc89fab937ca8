"""InitializeShareGroupState (key 83), v0: a group coordinator sets the start offsets of share partitions.

With offset -1 the leader of the partition finds the start offset.
"""

from collections.abc import Awaitable

from penstock.protocol.messages import initialize_share_group_state as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.share_state_requests import respond
from penstock.share.state.values import SharePartitionKey

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: api.InitializeShareGroupStateRequest
) -> Awaitable[api.InitializeShareGroupStateResponse]:
    def begin(key: SharePartitionKey, wanted: api.PartitionData) -> Awaitable[None]:
        return ctx.broker.share_state.initialize(key, wanted.state_epoch, wanted.start_offset)

    return respond(request, begin, api.InitializeShareGroupStateResponse)
