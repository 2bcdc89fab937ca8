"""PushTelemetry (key 72), v0: a client pushes its metrics (KIP-714).

They are parsed on a thread: a kilobyte may decompress to a megabyte.
"""

from functools import partial

from penstock.observability.otlp import NotOtlp
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from penstock.server.context import RequestContext
from penstock.server.telemetry import read_metrics

VERSIONS = range(1)


async def handle(ctx: RequestContext, request: PushTelemetryRequest) -> PushTelemetryResponse:
    telemetry = ctx.broker.telemetry
    client = telemetry.begin_push(
        ctx.peer,
        ctx.client_id,
        instance_id=request.client_instance_id,
        subscription_id=request.subscription_id,
        is_terminating=request.terminating,
        codec=request.compression_type,
        size_bytes=len(request.metrics),
    )
    if isinstance(client, ErrorCode):
        return PushTelemetryResponse(error_code=client)
    if request.metrics and client.metrics:  # metrics without a subscription are not kept
        try:
            points = await ctx.broker.checks.run(
                partial(read_metrics, request.compression_type, bytes(request.metrics), telemetry.bytes_max)
            )
        except (NotOtlp, ProtocolError):
            client.error = ErrorCode.INVALID_RECORD
        else:
            telemetry.keep(client, points)
    return PushTelemetryResponse(error_code=client.error)
