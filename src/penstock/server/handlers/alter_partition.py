"""AlterPartition (key 56), v2-v3: the leader of a partition asks for another in-sync set (KIP-497, KIP-841)."""

from penstock.cluster.controller import wire
from penstock.cluster.controller.decision import Refusal
from penstock.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(2, 4)


async def handle(ctx: RequestContext, request: AlterPartitionRequest) -> AlterPartitionResponse:
    try:
        results = await ctx.broker.controller.alter_partitions(
            request.broker_id, request.broker_epoch, wire.in_sync_changes(request)
        )
    except (Refusal, LogError) as error:
        return AlterPartitionResponse(error_code=error.code)
    return wire.in_sync_response(results)
