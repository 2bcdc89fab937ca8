"""ReadShareGroupState (key 84), v0: a new leader of a partition reads the state of its records."""

from collections.abc import Awaitable
from typing import Any

from penstock.protocol.messages import read_share_group_state as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.share_state_requests import respond
from penstock.share.state.values import SharePartitionKey, ShareState

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: api.ReadShareGroupStateRequest
) -> Awaitable[api.ReadShareGroupStateResponse]:
    def begin(key: SharePartitionKey, wanted: api.PartitionData) -> Awaitable[ShareState]:
        return ctx.broker.share_state.read(key, wanted.leader_epoch)

    return respond(request, begin, api.ReadShareGroupStateResponse, _fields)


def _fields(state: ShareState) -> dict[str, Any]:
    return {
        "error_message": "",
        "state_epoch": state.state_epoch,
        "start_offset": state.start_offset,
        "state_batches": [each.to_message(api.StateBatch) for each in state.batches],
    }
