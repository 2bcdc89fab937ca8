"""DeleteShareGroupState (key 86), v0: a group coordinator has the state of share partitions forgotten."""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionData,
    PartitionResult,
)
from penstock.server.context import RequestContext
from penstock.server.share_state_requests import Outcome, answer_each, begin_each
from penstock.share.values import PersisterError, SharePartitionKey


def handle(
    ctx: RequestContext, request: DeleteShareGroupStateRequest
) -> Awaitable[DeleteShareGroupStateResponse]:
    def begin(key: SharePartitionKey, _wanted: PartitionData) -> Awaitable[None]:
        return ctx.broker.share_state.delete(key)

    begun = begin_each(request.group_id, request.topics, begin)

    async def respond() -> DeleteShareGroupStateResponse:
        return DeleteShareGroupStateResponse(
            results=[
                DeleteStateResult(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in await answer_each(begun, _result)
            ]
        )

    return respond()


def _result(partition: int, outcome: Outcome[None]) -> PartitionResult:
    if isinstance(outcome, PersisterError):
        return PartitionResult(partition=partition, error_code=outcome.code, error_message=str(outcome))
    return PartitionResult(partition=partition, error_code=ErrorCode.NONE)
