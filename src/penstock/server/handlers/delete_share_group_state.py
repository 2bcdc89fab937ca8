"""DeleteShareGroupState (key 86), v0: a group coordinator deletes the state of share partitions."""

from collections.abc import Awaitable

from penstock.protocol.messages import delete_share_group_state as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.share_state_requests import respond
from penstock.share.state.values import SharePartitionKey

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: api.DeleteShareGroupStateRequest
) -> Awaitable[api.DeleteShareGroupStateResponse]:
    def begin(key: SharePartitionKey, _wanted: api.PartitionData) -> Awaitable[None]:
        return ctx.broker.share_state.delete(key)

    return respond(request, begin, api.DeleteShareGroupStateResponse)
