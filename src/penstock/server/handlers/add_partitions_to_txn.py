"""AddPartitionsToTxn (key 24), v0-v5: make partitions part of a transaction.

v0-v3 come from producers, for one transaction. v4 and v5 come from brokers, for several, and may only ask whether the
partitions are part of it (KIP-890). A request with a partition that does not exist changes nothing.
"""

from collections.abc import Awaitable, Sequence

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from penstock.server.context import RequestContext
from penstock.server.transaction_errors import told
from penstock.transactions.state import Producer, TopicPartition

_BATCHED_FROM = 4
_KNOWS_FENCED_FROM = 2


def handle(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> Awaitable[AddPartitionsToTxnResponse]:
    return _add_all(ctx, request) if ctx.version >= _BATCHED_FROM else _add_one(ctx, request)


async def _add_one(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=await _add(ctx, transaction))


async def _add_all(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id, topic_results=await _add(ctx, transaction)
            )
            for transaction in request.transactions
        ]
    )


async def _add(
    ctx: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> list[AddPartitionsToTxnTopicResult]:
    targets = [
        TopicPartition(topic.name, number) for topic in transaction.topics for number in topic.partitions
    ]
    image = ctx.broker.controller.image
    unknown = {target for target in targets if image.partition(*target) is None}
    if unknown:
        codes = {
            target: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if target in unknown
            else ErrorCode.OPERATION_NOT_ATTEMPTED
            for target in targets
        }
        return _results(transaction.topics, codes)
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    coordinator = ctx.broker.transactions
    if transaction.verify_only:
        codes = await coordinator.verify(transaction.transactional_id, producer, targets)
    else:
        code = await coordinator.add_partitions(transaction.transactional_id, producer, targets)
        codes = dict.fromkeys(targets, told(code, ctx.version, knows_fenced_from=_KNOWS_FENCED_FROM))
    return _results(transaction.topics, codes)


def _results(
    topics: Sequence[AddPartitionsToTxnTopic], codes: dict[TopicPartition, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=number, partition_error_code=codes[TopicPartition(topic.name, number)]
                )
                for number in topic.partitions
            ],
        )
        for topic in topics
    ]
