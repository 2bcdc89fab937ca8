"""Produce (key 0), v3-v13: append record batches to the partitions led here.

Stage one validates and appends, in connection order; stage two waits until what was appended may be acknowledged.
With acks=0 nothing is answered; an error then closes the connection, the only way left to tell the client.
"""

import asyncio
from collections.abc import Awaitable

from penstock.cluster.replica import Replica
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
from penstock.protocol.records.batch import HEADER_SIZE, parse_header
from penstock.server.connection import CloseConnection
from penstock.server.context import RequestContext
from penstock.storage.log_errors import AppendRejected, LogError


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
        return _respond_when_committed(request, outcomes, waiting)
    return _respond(outcomes)


async def _respond_when_committed(
    request: ProduceRequest,
    outcomes: list[tuple[TopicProduceData, list[_Outcome]]],
    waiting: list[_Outcome],
) -> ProduceResponse:
    timer = asyncio.get_running_loop().call_later(request.timeout_ms / 1000, _expire, waiting)
    try:
        for outcome in waiting:
            assert outcome.committed is not None
            try:
                await outcome.committed
            except TimeoutError:
                outcome.response = _failed(outcome.response.index, ErrorCode.REQUEST_TIMED_OUT)
            except LogError as error:
                outcome.response = _failed(outcome.response.index, error.code, str(error))
    finally:
        timer.cancel()
    return _respond(outcomes)


def _expire(waiting: list[_Outcome]) -> None:
    for outcome in waiting:
        if outcome.committed is not None and not outcome.committed.done():
            outcome.committed.set_exception(TimeoutError())


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
    if request.acks not in (-1, 0, 1):
        return _Outcome(_failed(data.index, ErrorCode.INVALID_REQUIRED_ACKS))
    replicas = ctx.broker.replicas
    leader = (
        replicas.leader_by_id(topic.topic_id, data.index)
        if ctx.version >= 13
        else replicas.leader_of(topic.name, data.index)
    )
    if not isinstance(leader, Replica):
        return _Outcome(_failed(data.index, leader))
    records = memoryview(data.records or b"")
    problem = _check_shape(records, ctx.version)
    if problem is not None:
        return _Outcome(_failed(data.index, *problem))
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


def _check_shape(records: memoryview, version: int) -> tuple[ErrorCode, str] | None:
    """From v3 on a partition's records are exactly one batch of the current format."""
    if len(records) < HEADER_SIZE:
        return ErrorCode.INVALID_RECORD, f"Produce v{version} needs one whole record batch for each partition"
    header = parse_header(records, 0)
    if header.magic != 2:
        return (
            ErrorCode.INVALID_RECORD,
            f"Produce v{version} takes record batches of magic 2, not {header.magic}",
        )
    if header.size_bytes < len(records):
        return (
            ErrorCode.INVALID_RECORD,
            f"Produce v{version} takes exactly one record batch for each partition",
        )
    if header.attributes & 7 == Codec.ZSTD and version < 7:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"Produce v{version} does not know zstd; v7 does"
    return None


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
