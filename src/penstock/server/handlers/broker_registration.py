"""BrokerRegistration (key 62), v0-v4: register a starting broker with the controller (KIP-631)."""

from penstock.cluster.controller import wire
from penstock.cluster.controller.decision import Refusal
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(5)


async def handle(ctx: RequestContext, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
    membership = ctx.broker.active.membership
    if membership is None:
        return BrokerRegistrationResponse(error_code=ErrorCode.NOT_CONTROLLER)
    try:
        broker = wire.registration_of(request)
        epoch = await membership.register(broker, request.cluster_id)
    except (Refusal, LogError) as error:
        return BrokerRegistrationResponse(error_code=error.code)
    return BrokerRegistrationResponse(broker_epoch=epoch)
