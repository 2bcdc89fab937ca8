"""IncrementalAlterConfigs (key 44), v0-v1: SET, DELETE, APPEND to or SUBTRACT from single settings (KIP-339).

Log levels (resources of type BROKER_LOGGER) are this process's own; all else is decided by the controller.
"""

from collections import Counter
from collections.abc import Sequence

from penstock.cluster.controller.alter_configs import (
    ConfigsAltered,
    ResourceChanges,
    SettingChange,
    check_form,
)
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.metadata.image import ResourceType
from penstock.protocol.messages import incremental_alter_configs as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.config_changes import alter, answer, is_checked_first
from penstock.server.handlers.shared.log_level_changes import alter_log_levels
from penstock.server.handlers.shared.permissions import settings_refusal

VERSIONS = range(2)


def is_own(request: api.IncrementalAlterConfigsRequest) -> bool:
    """Whether this broker handles it before the controller: log levels, settings of a single broker, mirrors."""
    return any(
        each.resource_type == ResourceType.BROKER_LOGGER
        or is_checked_first(each.resource_type, each.resource_name)
        for each in request.resources
    )


async def handle(
    ctx: RequestContext, request: api.IncrementalAlterConfigsRequest
) -> api.IncrementalAlterConfigsResponse:
    resources = [
        ResourceChanges(
            resource_type=r.resource_type,
            resource_name=r.resource_name,
            changes=[SettingChange(c.name, c.config_operation, c.value) for c in r.configs],
        )
        for r in request.resources
    ]
    altered = await _altered(ctx, resources, validate_only=request.validate_only)
    return api.IncrementalAlterConfigsResponse(
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


async def _altered(
    ctx: RequestContext, resources: Sequence[ResourceChanges], *, validate_only: bool
) -> list[ConfigsAltered]:
    """Return one result for each resource, in order."""
    occurrences = Counter((each.resource_type, each.resource_name) for each in resources)
    done = {
        id(each): _alter_logger(
            ctx, each, occurrences[each.resource_type, each.resource_name], validate_only=validate_only
        )
        for each in resources
        if each.resource_type == ResourceType.BROKER_LOGGER
    }
    others = [each for each in resources if id(each) not in done]
    if not others:
        return list(done.values())
    decided = iter(await alter(ctx, others, replace_all=False, validate_only=validate_only))
    return [done[id(each)] if id(each) in done else next(decided) for each in resources]


def _alter_logger(
    ctx: RequestContext, resource: ResourceChanges, occurrences: int, *, validate_only: bool
) -> ConfigsAltered:
    code = settings_refusal(ctx, Operation.ALTER_CONFIGS, resource.resource_type, resource.resource_name)
    if code:
        return answer(resource, code)
    try:
        check_form(resource, occurrences)
        alter_log_levels(ctx.broker.node_id, resource, validate_only=validate_only)
    except Refusal as refusal:
        return answer(resource, refusal.code, refusal.message)
    return answer(resource)
