"""GetTelemetrySubscriptions (key 71), v0: which client metrics a client shall send, and how often (KIP-714)."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import get_telemetry_subscriptions as api
from penstock.server.context import RequestContext
from penstock.server.telemetry import ACCEPTED_CODECS

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: api.GetTelemetrySubscriptionsRequest
) -> api.GetTelemetrySubscriptionsResponse:
    found = ctx.broker.telemetry.subscribe(request.client_instance_id, ctx.peer, ctx.client_id)
    if isinstance(found, ErrorCode):
        return api.GetTelemetrySubscriptionsResponse(error_code=found)
    return api.GetTelemetrySubscriptionsResponse(
        client_instance_id=found.instance_id,
        subscription_id=found.subscription_id,
        accepted_compression_types=[int(codec) for codec in ACCEPTED_CODECS],
        push_interval_ms=found.interval_ms,
        telemetry_max_bytes=ctx.broker.telemetry.bytes_max,
        delta_temporality=True,
        requested_metrics=list(found.metrics),
    )
