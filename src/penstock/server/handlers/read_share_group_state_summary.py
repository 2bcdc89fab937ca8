"""ReadShareGroupStateSummary (key 87), v0-v1: start offsets and epochs of share partitions, without record states.

v1 adds the number of completed records after the start offset.
"""

from collections.abc import Awaitable

from penstock.protocol.messages import read_share_group_state_summary as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.share_state_requests import respond
from penstock.share.state.values import SharePartitionKey, ShareSummary

VERSIONS = range(2)


def handle(
    ctx: RequestContext, request: api.ReadShareGroupStateSummaryRequest
) -> Awaitable[api.ReadShareGroupStateSummaryResponse]:
    def begin(key: SharePartitionKey, _wanted: api.PartitionData) -> Awaitable[ShareSummary]:
        return ctx.broker.share_state.summary(key)

    return respond(request, begin, api.ReadShareGroupStateSummaryResponse, ShareSummary._asdict)
