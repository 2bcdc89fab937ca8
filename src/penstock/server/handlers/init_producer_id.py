"""InitProducerId (key 22), v0-v6: an id for an idempotent producer.

Each idempotent producer gets a fresh id with epoch 0. A transactional id is refused until transactions are served.
"""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from penstock.server.context import RequestContext
from penstock.storage.log_errors import LogError


def handle(
    ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Awaitable[InitProducerIdResponse]:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return _failed(ErrorCode.INVALID_REQUEST)  # KIP-360: both or neither
    if request.transactional_id is None:
        return _allocate(ctx)
    return _failed(ErrorCode.UNSUPPORTED_VERSION if request.transactional_id else ErrorCode.INVALID_REQUEST)


async def _allocate(ctx: RequestContext) -> InitProducerIdResponse:
    try:
        return InitProducerIdResponse(producer_id=await ctx.broker.producer_ids.next(), producer_epoch=0)
    except LogError:
        return _failed(
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        )  # no room for a new block: the client tries again


def _failed(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )
