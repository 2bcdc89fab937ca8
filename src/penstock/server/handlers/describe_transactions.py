"""DescribeTransactions (key 65), v0: the state of the transactions of transactional ids."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic, may_transactional_id

VERSIONS = range(1)


async def handle(ctx: RequestContext, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            await _describe(ctx, transactional_id) for transactional_id in request.transactional_ids
        ]
    )


async def _describe(ctx: RequestContext, transactional_id: str) -> TransactionState:
    """Include only partitions of topics that the client may describe."""
    if not may_transactional_id(ctx, Operation.DESCRIBE, transactional_id):
        return TransactionState(
            error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, transactional_id=transactional_id
        )
    transactions = ctx.broker.transactions
    transaction = transactions.get(transactional_id)
    if transactional_id:
        transaction = await transactions.partitions.after_commit(transactional_id, transaction)
    if isinstance(transaction, ErrorCode):
        return TransactionState(error_code=transaction, transactional_id=transactional_id)
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(partition)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.protocol_name,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            TopicData(topic=name, partitions=numbers)
            for name, numbers in topics.items()
            if may_topic(ctx, Operation.DESCRIBE, name)
        ],
    )
