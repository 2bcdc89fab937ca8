"""AllocateProducerIds (key 67), v0: a broker wants the next block of producer ids (KIP-730)."""

from penstock.cluster.controller.decision import Refusal
from penstock.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(1)


async def handle(ctx: RequestContext, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse:
    try:
        block = await ctx.broker.controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
    except (Refusal, LogError) as error:
        return AllocateProducerIdsResponse(error_code=error.code)
    return AllocateProducerIdsResponse(producer_id_start=block.first_id, producer_id_len=block.size)
