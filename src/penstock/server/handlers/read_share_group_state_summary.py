"""ReadShareGroupStateSummary (key 87), v0-v1: where share partitions are, without what is known of each record.

v1 tells how many records behind the start offset are done with.
"""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.read_share_group_state_summary import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateSummaryRequest,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)
from penstock.server.context import RequestContext
from penstock.server.share_state_requests import Outcome, answer_each, begin_each
from penstock.share.values import PersisterError, SharePartitionKey, ShareSummary


def handle(
    ctx: RequestContext, request: ReadShareGroupStateSummaryRequest
) -> Awaitable[ReadShareGroupStateSummaryResponse]:
    def begin(key: SharePartitionKey, _wanted: PartitionData) -> Awaitable[ShareSummary]:
        return ctx.broker.share_state.summary(key)

    begun = begin_each(request.group_id, request.topics, begin)

    async def respond() -> ReadShareGroupStateSummaryResponse:
        return ReadShareGroupStateSummaryResponse(
            results=[
                ReadStateSummaryResult(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in await answer_each(begun, _result)
            ]
        )

    return respond()


def _result(partition: int, outcome: Outcome[ShareSummary]) -> PartitionResult:
    if isinstance(outcome, PersisterError):
        return PartitionResult(partition=partition, error_code=outcome.code, error_message=str(outcome))
    return PartitionResult(
        partition=partition,
        error_code=ErrorCode.NONE,
        state_epoch=outcome.state_epoch,
        leader_epoch=outcome.leader_epoch,
        start_offset=outcome.start_offset,
        delivery_complete_count=outcome.delivery_complete_count,
    )
