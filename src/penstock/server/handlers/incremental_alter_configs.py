"""IncrementalAlterConfigs (key 44), v0-v1: SET, DELETE, APPEND to or SUBTRACT from single settings (KIP-339)."""

from collections.abc import Awaitable

from penstock.cluster.controller.alter_configs import ResourceChanges, SettingChange
from penstock.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from penstock.server.config_changes import alter
from penstock.server.context import RequestContext


def handle(
    ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> Awaitable[IncrementalAlterConfigsResponse]:
    return _alter(ctx, request)


async def _alter(
    ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    resources = [
        ResourceChanges(
            resource_type=r.resource_type,
            resource_name=r.resource_name,
            changes=[SettingChange(c.name, c.config_operation, c.value) for c in r.configs],
        )
        for r in request.resources
    ]
    altered = await alter(
        ctx, resources, ctx.broker.controller.incremental_alter_configs, request.validate_only
    )
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=r.error,
                error_message=r.message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in altered
        ]
    )
