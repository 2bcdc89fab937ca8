"""What AlterConfigs and IncrementalAlterConfigs share: settings are those of a broker that exists, and one may."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from penstock.cluster.controller.alter_configs import ConfigsAltered, ResourceChanges
from penstock.cluster.metadata.image import ResourceType
from penstock.protocol.errors import ErrorCode
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.permissions import settings_refusal
from penstock.storage.log_errors import LogError


class Decide(Protocol):
    """The controller's side of either request."""

    def __call__(
        self, resources: Sequence[ResourceChanges], *, validate_only: bool
    ) -> Awaitable[list[ConfigsAltered]]: ...


async def alter(
    ctx: RequestContext, resources: Sequence[ResourceChanges], decide: Decide, validate_only: bool
) -> list[ConfigsAltered]:
    """Give one answer for each resource, in their order."""
    refused = {id(r): refusal for r in resources if (refusal := _refusal(ctx, r)) is not None}
    try:
        decided = await decide([r for r in resources if id(r) not in refused], validate_only=validate_only)
    except LogError as error:  # the metadata log takes no records: nothing has changed
        return [answer(r, error.code, error.client_message) for r in resources]
    rest = iter(decided)
    return [answer(r, *refused[id(r)]) if id(r) in refused else next(rest) for r in resources]


def _refusal(ctx: RequestContext, resource: ResourceChanges) -> tuple[ErrorCode, str | None] | None:
    """Clients send a broker's settings to that broker, which forwards them to the controller: this one."""
    names = ("", *map(str, ctx.broker.controller.image.brokers))
    if resource.resource_type == ResourceType.BROKER and resource.resource_name not in names:
        return (
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {ctx.broker.node_id}, but received {resource.resource_name}",
        )
    code = settings_refusal(ctx, Operation.ALTER_CONFIGS, resource.resource_type, resource.resource_name)
    return (code, None) if code else None


def answer(
    resource: ResourceChanges, code: ErrorCode = ErrorCode.NONE, message: str | None = None
) -> ConfigsAltered:
    return ConfigsAltered(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        error=code,
        message=message,
    )
