"""PushTelemetry (key 72), v0: metrics that a client sends of itself (KIP-714)."""

from penstock.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: PushTelemetryRequest) -> PushTelemetryResponse:
    code = ctx.broker.telemetry.push(
        ctx.peer,
        ctx.client_id,
        instance_id=request.client_instance_id,
        subscription_id=request.subscription_id,
        is_terminating=request.terminating,
        codec=request.compression_type,
        metrics=request.metrics,
    )
    return PushTelemetryResponse(error_code=code)
