"""Produce (key 0), v3-v13: append record batches to the partitions led here.

Stage one validates and appends, in connection order; stage two waits until what was appended may be acknowledged.
That wait is for this broker's own disk, which Kafka does within the append: the request's timeout, which bounds the
wait for other replicas, does not apply to it. With acks=0 nothing is answered; an error then closes the connection,
the only way left to tell the client.
"""

import asyncio
from collections.abc import Awaitable

from penstock.cluster.replica import Replica
from penstock.cluster.topic_names import is_internal
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.protocol.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    HEADER_SIZE,
    MAGIC,
    MAGIC_POSITION,
    TRANSACTIONAL_FLAG,
)
from penstock.server.connection import CloseConnection
from penstock.server.context import RequestContext
from penstock.storage.log_errors import AppendRejected, LogError

ADMIN_CLIENT = "__admin_client"  # Kafka's name for the only client that may write to internal topics


class _Outcome:
    """What one partition will be answered, and what that waits for."""

    __slots__ = ("committed", "response")

    def __init__(
        self, response: PartitionProduceResponse, committed: "asyncio.Future[None] | None" = None
    ) -> None:
        self.response = response
        self.committed = committed


def handle(
    ctx: RequestContext, request: ProduceRequest
) -> ProduceResponse | Awaitable[ProduceResponse | None] | None:
    outcomes = [
        (topic, [_append(ctx, request, topic, data) for data in topic.partition_data])
        for topic in request.topic_data
    ]
    if request.acks == 0:
        for topic, parts in outcomes:
            for outcome in parts:
                if outcome.response.error_code:
                    raise CloseConnection(
                        f"a produce without acknowledgement to {topic.name or topic.topic_id.hex()} failed: "
                        f"{ErrorCode(outcome.response.error_code).name}"
                    )
        return None
    waiting = [o for _, parts in outcomes for o in parts if o.committed is not None]
    if waiting:
        return _respond_when_committed(outcomes, waiting)
    return _respond(outcomes)


async def _respond_when_committed(
    outcomes: list[tuple[TopicProduceData, list[_Outcome]]], waiting: list[_Outcome]
) -> ProduceResponse:
    for outcome in waiting:
        assert outcome.committed is not None
        try:
            await outcome.committed
        except LogError as error:
            outcome.response = _failed(outcome.response.index, error.code, str(error))
    return _respond(outcomes)


def _respond(outcomes: list[tuple[TopicProduceData, list[_Outcome]]]) -> ProduceResponse:
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[o.response for o in parts],
            )
            for topic, parts in outcomes
        ]
    )


def _append(
    ctx: RequestContext, request: ProduceRequest, topic: TopicProduceData, data: PartitionProduceData
) -> _Outcome:
    replicas = ctx.broker.replicas
    leader = (
        replicas.leader_by_id(topic.topic_id, data.index)
        if ctx.version >= 13
        else replicas.leader_of(topic.name, data.index)
    )
    if not isinstance(leader, Replica):
        return _Outcome(_failed(data.index, leader))
    records = memoryview(data.records or b"")
    code = _refuse(ctx, request, leader, records)
    if code:
        return _Outcome(_failed(data.index, code))
    try:
        appended = leader.append(records, ctx.broker.clock.now_ms())
    except AppendRejected as rejected:
        return _Outcome(_rejected(data.index, leader, rejected))
    except LogError as error:
        return _Outcome(_failed(data.index, error.code, str(error)))
    response = PartitionProduceResponse(
        index=data.index,
        error_code=0,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )
    return _Outcome(response, leader.committed(appended.last_offset) if request.acks else None)


def _refuse(ctx: RequestContext, request: ProduceRequest, leader: Replica, records: memoryview) -> ErrorCode:
    """What is wrong with the request itself; the log judges the records."""
    is_batch = len(records) >= HEADER_SIZE and records[MAGIC_POSITION] == MAGIC
    attributes = records[ATTRIBUTES_POSITION + 1] if is_batch else 0
    if attributes & CODEC_MASK == Codec.ZSTD and ctx.version < 7:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if request.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if is_internal(leader.topic) and ctx.client_id != ADMIN_CLIENT:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if attributes & TRANSACTIONAL_FLAG:
        # Nobody has begun a transaction here: a batch of one would hold back readers for ever.
        is_named = request.transactional_id is not None
        return (
            ErrorCode.INVALID_PRODUCER_ID_MAPPING
            if is_named
            else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        )
    return ErrorCode.NONE


def _failed(index: int, code: ErrorCode, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=code, base_offset=-1, error_message=message)


def _rejected(index: int, leader: Replica, rejected: AppendRejected) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=rejected.code,
        base_offset=-1,
        log_start_offset=leader.log.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=e.batch_index, batch_index_error_message=e.message)
            for e in rejected.record_errors
        ],
        error_message=rejected.message,
    )
