"""What the partitions of a Produce are answered."""

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.storage.log_errors import AppendRejected
from penstock.storage.log_values import Appended

_NOT_LOOKED_INTO = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
"""Refusals that, as in Kafka, do not tell where the log starts."""


def stored(index: int, appended: Appended) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=0,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )


def failed(index: int, code: ErrorCode, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=code, base_offset=-1, error_message=message)


def rejected(index: int, leader: Replica, error: AppendRejected) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=error.code,
        base_offset=-1,
        log_start_offset=-1 if error.code in _NOT_LOOKED_INTO else leader.log.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=e.batch_index, batch_index_error_message=e.message)
            for e in error.record_errors
        ],
        error_message=error.message,
    )


def answer_of_one(topic: TopicProduceData, response: PartitionProduceResponse) -> ProduceResponse:
    told = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=[response])
    return ProduceResponse(responses=[told])
