"""WriteShareGroupState (key 85), v0-v1: a partition leader persists the state of its records.

v1 adds the number of completed records after the start offset, to compute the lag of a group.
"""

from collections.abc import Awaitable

from penstock.protocol.messages import write_share_group_state as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.share_state_requests import respond
from penstock.share.state.records import state_batches
from penstock.share.state.values import SharePartitionKey, StateUpdate

VERSIONS = range(2)


def handle(
    ctx: RequestContext, request: api.WriteShareGroupStateRequest
) -> Awaitable[api.WriteShareGroupStateResponse]:
    def begin(key: SharePartitionKey, wanted: api.PartitionData) -> Awaitable[None]:
        update = StateUpdate(
            state_epoch=wanted.state_epoch,
            leader_epoch=wanted.leader_epoch,
            start_offset=wanted.start_offset,
            delivery_complete_count=wanted.delivery_complete_count,
            batches=state_batches(wanted.state_batches),
        )
        return ctx.broker.share_state.write(key, update)

    return respond(request, begin, api.WriteShareGroupStateResponse)
