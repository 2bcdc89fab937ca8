"""EndTxn (key 26), v0-v5: commit or abort a transaction.

The response comes when the log has the decision, which is then executed in any case. v2: PRODUCER_FENCED. v5: the
producer continues with the id and epoch of the response (transaction version 2, KIP-890).
"""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_transactional_id
from penstock.server.handlers.shared.transaction_errors import error_for_version
from penstock.transactions.state import TRANSACTION_VERSION_2, Producer

VERSIONS = range(6)

_KNOWS_FENCED_FROM = 2
_RAISES_EPOCH_FROM = 5


async def handle(ctx: RequestContext, request: EndTxnRequest) -> EndTxnResponse:
    if not may_transactional_id(ctx, Operation.WRITE, request.transactional_id):
        return EndTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    response = await ctx.broker.transactions.end(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        commit=request.committed,
        client_version=TRANSACTION_VERSION_2 if ctx.version >= _RAISES_EPOCH_FROM else 0,
    )
    if ctx.version < _RAISES_EPOCH_FROM:
        return EndTxnResponse(
            error_code=error_for_version(response.error, ctx.version, knows_fenced_from=_KNOWS_FENCED_FROM)
        )
    return EndTxnResponse(
        error_code=response.error,
        producer_id=response.producer.producer_id,
        producer_epoch=response.producer.epoch,
    )
