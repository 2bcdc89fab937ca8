"""InitProducerId (key 22), v0-v6: an id and an epoch for an idempotent or transactional producer.

Without a transactional id every producer gets a new id. With one it gets the id's next epoch: the previous producer
is fenced, and its open transaction is aborted first. v3: a producer continues after an error (KIP-360). v4:
PRODUCER_FENCED. v6: two-phase commit (KIP-939), where the broker's settings allow it.
"""

from collections.abc import Awaitable

from penstock.config.settings.coordinators import TRANSACTION_TWO_PHASE_COMMIT_ENABLE
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_transactional_id
from penstock.server.handlers.shared.transaction_errors import error_for_version
from penstock.storage.errors import LogError
from penstock.transactions.state import Producer

VERSIONS = range(7)

_KNOWS_FENCED_FROM = 4


def handle(
    ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Awaitable[InitProducerIdResponse]:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _failed(ErrorCode.INVALID_REQUEST)  # KIP-360: both or neither
    if request.transactional_id is None:
        return _allocate(ctx) if _may_allocate(ctx) else _failed(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if not may_transactional_id(ctx, Operation.WRITE, request.transactional_id):
        return _failed(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not request.transactional_id:
        return _failed(ErrorCode.INVALID_REQUEST)
    if request.keep_prepared_txn:
        return _failed(ErrorCode.UNSUPPORTED_VERSION)
    if request.enable2_pc and not (
        may_transactional_id(ctx, Operation.TWO_PHASE_COMMIT, request.transactional_id)
        and ctx.broker.config[TRANSACTION_TWO_PHASE_COMMIT_ENABLE]
    ):
        return _failed(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return _init(ctx, request, request.transactional_id)


def _may_allocate(ctx: RequestContext) -> bool:
    """A client that may write to any topic may do so idempotently (KIP-679)."""
    return ctx.may_in_cluster(Operation.IDEMPOTENT_WRITE) or ctx.broker.authorizer.allows_some(
        ctx.peer.principal, ctx.peer.host, Operation.WRITE, ResourceType.TOPIC
    )


async def _allocate(ctx: RequestContext) -> InitProducerIdResponse:
    try:
        return InitProducerIdResponse(producer_id=await ctx.broker.producer_ids.next(), producer_epoch=0)
    except LogError:
        # The log has no room for a new block of ids: the client retries.
        return _failed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


async def _init(
    ctx: RequestContext, request: InitProducerIdRequest, transactional_id: str
) -> InitProducerIdResponse:
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = Producer(request.producer_id, request.producer_epoch)
    response = await ctx.broker.transactions.init_producer(
        transactional_id,
        timeout_ms=request.transaction_timeout_ms,
        expected=expected,
        is_2pc=request.enable2_pc,
    )
    if response.error:
        return _failed(error_for_version(response.error, ctx.version, knows_fenced_from=_KNOWS_FENCED_FROM))
    return InitProducerIdResponse(
        producer_id=response.producer.producer_id, producer_epoch=response.producer.epoch
    )


def _failed(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
