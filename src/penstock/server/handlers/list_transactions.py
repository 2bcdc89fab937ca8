"""ListTransactions (key 66), v0-v2: the transactional ids that this broker coordinates.

Filters, all of which must hold: by state and by producer id, v1 by how long a transaction has been running (KIP-994),
v2 by a pattern for the whole transactional id (KIP-1152). Ids that may not be described are left out.
"""

import asyncio

from penstock.config.patterns import InvalidPattern, Pattern
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import list_transactions as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_transactional_id
from penstock.transactions.state import Transaction
from penstock.transactions.states import STATE_NAMES

VERSIONS = range(3)

_IDS_PER_TURN = 100


async def handle(ctx: RequestContext, request: api.ListTransactionsRequest) -> api.ListTransactionsResponse:
    coordinator = ctx.broker.transactions
    if coordinator.partitions.is_loading:
        return api.ListTransactionsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    try:
        pattern = Pattern(request.transactional_id_pattern) if request.transactional_id_pattern else None
    except InvalidPattern:
        return api.ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    states = {STATE_NAMES[name] for name in request.state_filters if name in STATE_NAMES}
    producer_ids = set(request.producer_id_filters)
    now_ms = ctx.broker.clock.now_ms()

    def is_wanted(transaction: Transaction) -> bool:
        return (
            (not producer_ids or transaction.producer_id in producer_ids)
            and (not request.state_filters or transaction.state in states)
            and (request.duration_filter < 0 or now_ms - transaction.started_ms > request.duration_filter)
            and (pattern is None or pattern.matches(transaction.transactional_id))
            and may_transactional_id(ctx, Operation.DESCRIBE, transaction.transactional_id)
        )

    found = await coordinator.partitions.read_committed(iter)
    if isinstance(found, ErrorCode):
        return api.ListTransactionsResponse(error_code=found)
    wanted = []
    for number, transaction in enumerate(found):
        if is_wanted(transaction):
            wanted.append(
                api.TransactionState(
                    transactional_id=transaction.transactional_id,
                    producer_id=transaction.producer_id,
                    transaction_state=transaction.state.protocol_name,
                )
            )
        if number % _IDS_PER_TURN == 0:
            await asyncio.sleep(0)
    return api.ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in STATE_NAMES],
        transaction_states=wanted,
    )
