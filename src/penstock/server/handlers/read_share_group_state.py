"""ReadShareGroupState (key 84), v0: a new leader of a partition takes over what is known of its records."""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)
from penstock.server.context import RequestContext
from penstock.server.share_state_requests import Outcome, answer_each, begin_each
from penstock.share.values import PersisterError, SharePartitionKey, ShareState


def handle(
    ctx: RequestContext, request: ReadShareGroupStateRequest
) -> Awaitable[ReadShareGroupStateResponse]:
    def begin(key: SharePartitionKey, wanted: PartitionData) -> Awaitable[ShareState]:
        return ctx.broker.share_state.read(key, wanted.leader_epoch)

    begun = begin_each(request.group_id, request.topics, begin)

    async def respond() -> ReadShareGroupStateResponse:
        return ReadShareGroupStateResponse(
            results=[
                ReadStateResult(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in await answer_each(begun, _result)
            ]
        )

    return respond()


def _result(partition: int, outcome: Outcome[ShareState]) -> PartitionResult:
    if isinstance(outcome, PersisterError):
        return PartitionResult(partition=partition, error_code=outcome.code, error_message=str(outcome))
    return PartitionResult(
        partition=partition,
        error_code=ErrorCode.NONE,
        error_message="",
        state_epoch=outcome.state_epoch,
        start_offset=outcome.start_offset,
        state_batches=[
            StateBatch(
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                delivery_state=each.state,
                delivery_count=each.delivery_count,
            )
            for each in outcome.batches
        ],
    )
