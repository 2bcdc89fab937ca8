"""AddPartitionsToTxn (key 24), v0-v5: add partitions to a transaction.

v0-v3 come from producers, for one transaction. v4 and v5 come from brokers, for several, and may only ask whether the
partitions are part of it (KIP-890). A request with a partition that does not exist, or that its producer may not write
to, changes nothing.
"""

from collections.abc import Sequence

from penstock.cluster.metadata.topic_names import is_internal
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
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic, may_transactional_id
from penstock.server.handlers.shared.transaction_errors import error_for_version
from penstock.transactions.state import Producer, TopicPartition

VERSIONS = range(6)

_BATCHED_FROM = 4
_KNOWS_FENCED_FROM = 2


async def handle(ctx: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    if ctx.version >= _BATCHED_FROM:
        results = [
            AddPartitionsToTxnResult(
                transactional_id=transaction.transactional_id, topic_results=await _add(ctx, transaction)
            )
            for transaction in request.transactions
        ]
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    if not may_transactional_id(ctx, Operation.WRITE, transaction.transactional_id):
        refusal = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        codes = dict.fromkeys(_targets(transaction), refusal)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(transaction.topics, codes))
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=await _add(ctx, transaction))


def _denied(ctx: RequestContext, topic: str) -> bool:
    """No producer may write to internal topics."""
    return ctx.version < _BATCHED_FROM and (is_internal(topic) or not may_topic(ctx, Operation.WRITE, topic))


async def _add(
    ctx: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> list[AddPartitionsToTxnTopicResult]:
    targets = _targets(transaction)
    refused = _refused(ctx, transaction)
    if refused:
        codes = {target: refused.get(target, ErrorCode.OPERATION_NOT_ATTEMPTED) for target in targets}
        return _results(transaction.topics, codes)
    producer = Producer(transaction.producer_id, transaction.producer_epoch)
    coordinator = ctx.broker.transactions
    if transaction.verify_only:
        codes = await coordinator.verify(transaction.transactional_id, producer, targets)
    else:
        code = await coordinator.add_partitions(transaction.transactional_id, producer, targets)
        codes = dict.fromkeys(
            targets, error_for_version(code, ctx.version, knows_fenced_from=_KNOWS_FENCED_FROM)
        )
    return _results(transaction.topics, codes)


def _targets(transaction: AddPartitionsToTxnTransaction) -> list[TopicPartition]:
    return [TopicPartition(topic.name, number) for topic in transaction.topics for number in topic.partitions]


def _refused(
    ctx: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> dict[TopicPartition, ErrorCode]:
    """Return the errors of partitions that cannot be added."""
    image = ctx.broker.controller.image
    refused: dict[TopicPartition, ErrorCode] = {}
    for topic in transaction.topics:
        is_denied = _denied(ctx, topic.name)
        is_read_only = image.is_read_only(topic.name)
        for number in topic.partitions:
            if is_denied:
                refused[TopicPartition(topic.name, number)] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif image.partition(topic.name, number) is None:
                refused[TopicPartition(topic.name, number)] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif is_read_only:  # a mirror of another cluster's
                refused[TopicPartition(topic.name, number)] = ErrorCode.POLICY_VIOLATION
    return refused


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
