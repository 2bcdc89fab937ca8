"""BrokerHeartbeat (key 63), v0-v2: a broker reports that it is alive, and which state it wants (KIP-631).

From v1 on it names its failed directories (KIP-858); other brokers then lead its partitions there if they can. When its
connection ends the controller checks whether it is still there.
"""

from functools import partial

from penstock.cluster.controller import wire
from penstock.cluster.controller.decision import Refusal
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(3)


async def handle(ctx: RequestContext, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
    membership = ctx.broker.active.membership
    if membership is None:
        return BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
    try:
        response = await membership.heartbeat(
            request.broker_id, request.broker_epoch, wire.heartbeat_of(request)
        )
        ctx.peer.on_disconnect = partial(membership.on_disconnect, request.broker_id)
    except (Refusal, LogError) as error:
        return BrokerHeartbeatResponse(error_code=error.code)
    return wire.heartbeat_response(response)
