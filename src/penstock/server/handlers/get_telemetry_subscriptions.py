"""GetTelemetrySubscriptions (key 71), v0: what metrics of its own a client shall send, and how often (KIP-714)."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from penstock.server.context import RequestContext
from penstock.server.telemetry import ACCEPTED_CODECS

VERSIONS = range(1)


def handle(
    ctx: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    found = ctx.broker.telemetry.subscribe(request.client_instance_id, ctx.peer, ctx.client_id)
    if isinstance(found, ErrorCode):
        return GetTelemetrySubscriptionsResponse(error_code=found)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=found.instance_id,
        subscription_id=found.subscription_id,
        accepted_compression_types=[int(codec) for codec in ACCEPTED_CODECS],
        push_interval_ms=found.interval_ms,
        telemetry_max_bytes=ctx.broker.telemetry.bytes_max,
        delta_temporality=True,
        requested_metrics=list(found.metrics),
    )
