"""AssignReplicasToDirs (key 73), v0: a broker with several log directories reports which of them holds which replicas
(KIP-858). Brokers of Apache Kafka send it.
"""

from penstock.cluster.controller import wire
from penstock.cluster.controller.decision import Refusal
from penstock.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(1)


async def handle(ctx: RequestContext, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
    try:
        results = await ctx.broker.controller.assign_directories(
            request.broker_id, request.broker_epoch, wire.directory_assignments(request)
        )
    except (Refusal, LogError) as error:
        return AssignReplicasToDirsResponse(error_code=error.code)
    return wire.directories_response(results)
