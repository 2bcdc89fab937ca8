"""AlterConfigs (key 33), v0-v2: replace all settings of a resource; settings that are not in the request are reset."""

from penstock.cluster.controller.alter_configs import Operation, ResourceChanges, SettingChange
from penstock.protocol.messages import alter_configs as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.config_changes import alter, is_of_broker

VERSIONS = range(3)


def is_own(request: api.AlterConfigsRequest) -> bool:
    """Whether this broker checks it before the controller does."""
    return any(is_of_broker(each.resource_type, each.resource_name) for each in request.resources)


async def handle(ctx: RequestContext, request: api.AlterConfigsRequest) -> api.AlterConfigsResponse:
    resources = [
        ResourceChanges(
            resource_type=r.resource_type,
            resource_name=r.resource_name,
            changes=[SettingChange(c.name, Operation.SET, c.value) for c in r.configs],
        )
        for r in request.resources
    ]
    altered = await alter(ctx, resources, replace_all=True, validate_only=request.validate_only)
    return api.AlterConfigsResponse(
        responses=[
            api.AlterConfigsResourceResponse(
                error_code=r.error,
                error_message=r.message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in altered
        ]
    )
