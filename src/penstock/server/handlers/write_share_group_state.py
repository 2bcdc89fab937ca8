"""WriteShareGroupState (key 85), v0-v1: leaders of partitions write down what became of records.

v1 tells how many records behind the start offset are done with, for the lag of a group.
"""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.write_share_group_state import (
    PartitionData,
    PartitionResult,
    WriteShareGroupStateRequest,
    WriteShareGroupStateResponse,
    WriteStateResult,
)
from penstock.server.context import RequestContext
from penstock.server.share_state_requests import Outcome, answer_each, begin_each
from penstock.share.state.records import state_batches
from penstock.share.values import PersisterError, SharePartitionKey


def handle(
    ctx: RequestContext, request: WriteShareGroupStateRequest
) -> Awaitable[WriteShareGroupStateResponse]:
    def begin(key: SharePartitionKey, wanted: PartitionData) -> Awaitable[None]:
        return ctx.broker.share_state.write(
            key,
            state_epoch=wanted.state_epoch,
            leader_epoch=wanted.leader_epoch,
            start_offset=wanted.start_offset,
            delivery_complete_count=wanted.delivery_complete_count,
            batches=state_batches(wanted.state_batches),
        )

    begun = begin_each(request.group_id, request.topics, begin)

    async def respond() -> WriteShareGroupStateResponse:
        return WriteShareGroupStateResponse(
            results=[
                WriteStateResult(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in await answer_each(begun, _result)
            ]
        )

    return respond()


def _result(partition: int, outcome: Outcome[None]) -> PartitionResult:
    if isinstance(outcome, PersisterError):
        return PartitionResult(partition=partition, error_code=outcome.code, error_message=str(outcome))
    return PartitionResult(partition=partition, error_code=ErrorCode.NONE)
