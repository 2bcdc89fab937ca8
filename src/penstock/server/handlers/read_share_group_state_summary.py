"""ReadShareGroupStateSummary (key 87), v0-v1: start offsets and epochs of share partitions, without record states.

v1 adds how many records behind the start offset are complete.
"""

from collections.abc import Awaitable

from penstock.protocol.messages import read_share_group_state_summary as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.share_state_requests import ResponseClasses, respond
from penstock.share.state.values import SharePartitionKey, ShareSummary

VERSIONS = range(2)

_CLASSES = ResponseClasses(
    api.ReadShareGroupStateSummaryResponse, api.ReadStateSummaryResult, api.PartitionResult
)


def handle(
    ctx: RequestContext, request: api.ReadShareGroupStateSummaryRequest
) -> Awaitable[api.ReadShareGroupStateSummaryResponse]:
    def begin(key: SharePartitionKey, _wanted: api.PartitionData) -> Awaitable[ShareSummary]:
        return ctx.broker.share_state.summary(key)

    return respond(request, begin, _CLASSES, ShareSummary._asdict)
