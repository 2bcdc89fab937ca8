"""ControllerRegistration (key 70), v0: a controller that starts makes itself known to the active one (KIP-919)."""

from penstock.cluster.controller import wire
from penstock.cluster.controller.decision import Refusal
from penstock.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(1)


async def handle(
    ctx: RequestContext, request: ControllerRegistrationRequest
) -> ControllerRegistrationResponse:
    try:
        await ctx.broker.controller.register_controller(wire.controller_registration_of(request))
    except Refusal as refusal:
        return ControllerRegistrationResponse(error_code=refusal.code, error_message=refusal.message)
    except LogError as error:
        return ControllerRegistrationResponse(error_code=error.code, error_message=error.client_message)
    return ControllerRegistrationResponse(error_message=None)
