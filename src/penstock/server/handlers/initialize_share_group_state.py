"""InitializeShareGroupState (key 83), v0: a group coordinator has share partitions begin at an offset.

-1 for the offset leaves it to the leader of the partition to find one.
"""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionData,
    PartitionResult,
)
from penstock.server.context import RequestContext
from penstock.server.share_state_requests import Outcome, answer_each, begin_each
from penstock.share.values import PersisterError, SharePartitionKey


def handle(
    ctx: RequestContext, request: InitializeShareGroupStateRequest
) -> Awaitable[InitializeShareGroupStateResponse]:
    def begin(key: SharePartitionKey, wanted: PartitionData) -> Awaitable[None]:
        return ctx.broker.share_state.initialize(key, wanted.state_epoch, wanted.start_offset)

    begun = begin_each(request.group_id, request.topics, begin)

    async def respond() -> InitializeShareGroupStateResponse:
        return InitializeShareGroupStateResponse(
            results=[
                InitializeStateResult(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in await answer_each(begun, _result)
            ]
        )

    return respond()


def _result(partition: int, outcome: Outcome[None]) -> PartitionResult:
    if isinstance(outcome, PersisterError):
        return PartitionResult(partition=partition, error_code=outcome.code, error_message=str(outcome))
    return PartitionResult(partition=partition, error_code=ErrorCode.NONE)
