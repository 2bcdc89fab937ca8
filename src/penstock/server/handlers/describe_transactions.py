"""DescribeTransactions (key 65), v0: the state of the transactions of transactional ids."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_transactions as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic, may_transactional_id
from penstock.transactions.state import by_topic

VERSIONS = range(1)


async def handle(
    ctx: RequestContext, request: api.DescribeTransactionsRequest
) -> api.DescribeTransactionsResponse:
    return api.DescribeTransactionsResponse(
        transaction_states=[
            await _describe(ctx, transactional_id) for transactional_id in request.transactional_ids
        ]
    )


async def _describe(ctx: RequestContext, transactional_id: str) -> api.TransactionState:
    """Include only partitions of topics that the client may describe."""
    if not may_transactional_id(ctx, Operation.DESCRIBE, transactional_id):
        return api.TransactionState(
            error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, transactional_id=transactional_id
        )
    transactions = ctx.broker.transactions
    transaction = transactions.get(transactional_id)
    if transactional_id:
        transaction = await transactions.partitions.after_commit(transactional_id, transaction)
    if isinstance(transaction, ErrorCode):
        return api.TransactionState(error_code=transaction, transactional_id=transactional_id)
    return api.TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.protocol_name,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            api.TopicData(topic=name, partitions=numbers)
            for name, numbers in by_topic(transaction.partitions).items()
            if may_topic(ctx, Operation.DESCRIBE, name)
        ],
    )
