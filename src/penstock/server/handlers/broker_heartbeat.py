"""BrokerHeartbeat (key 63), v0-v2: a broker tells the controller that it lives, and what it wants to be (KIP-631).

From v1 on it names its directories that have failed (KIP-858), and others then lead what they can of what it led. When
its connection ends the controller looks whether it is still there.
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
        answer = await membership.heartbeat(
            request.broker_id, request.broker_epoch, wire.heartbeat_of(request)
        )
        ctx.peer.on_disconnect = partial(membership.lost, request.broker_id)
    except (Refusal, LogError) as error:
        return BrokerHeartbeatResponse(error_code=error.code)
    return wire.heartbeat_response(answer)
