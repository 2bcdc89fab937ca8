"""InitProducerId (key 22), v0-v6: an id for an idempotent producer.

Each idempotent producer gets a fresh id with epoch 0. A transactional id is refused until transactions are served.
"""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from penstock.server.context import RequestContext


def handle(
    ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | Awaitable[InitProducerIdResponse]:
    if request.transactional_id is None:
        return _allocate(ctx)
    code = ErrorCode.UNSUPPORTED_VERSION if request.transactional_id else ErrorCode.INVALID_REQUEST
    return InitProducerIdResponse(error_code=code, producer_epoch=-1)


async def _allocate(ctx: RequestContext) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await ctx.broker.producer_ids.next(), producer_epoch=0)
