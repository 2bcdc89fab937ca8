"""Common parts of AlterConfigs and IncrementalAlterConfigs.

A broker's own settings are checked by that broker, which alone knows its file and its possible listeners, and then
decided by the controller.
"""

import contextlib
from collections.abc import Sequence

from penstock.cluster.controller.alter_configs import ConfigsAltered, ResourceChanges, settings_after
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller_access import ControllerIsLocal
from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.metadata.mirrors import MIRROR
from penstock.config.property import ConfigError
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_configs as whole
from penstock.protocol.messages import incremental_alter_configs as incremental
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.forwarding import ask_controller
from penstock.server.handlers.shared.permissions import settings_refusal
from penstock.storage.errors import LogError


def is_checked_first(resource_type: int, resource_name: str) -> bool:
    """Whether the broker that receives a request checks it before the controller, which may be one of Kafka."""
    return resource_type == MIRROR or is_of_broker(resource_type, resource_name)


def is_of_broker(resource_type: int, resource_name: str) -> bool:
    """Whether a single broker's settings shall change: the broker that receives the request checks it first."""
    return resource_type == ResourceType.BROKER and resource_name != ""


async def alter(
    ctx: RequestContext, resources: Sequence[ResourceChanges], *, replace_all: bool, validate_only: bool
) -> list[ConfigsAltered]:
    """Return one result for each resource, in order."""
    refused = {
        id(r): refusal
        for r in resources
        if (refusal := await _refusal(ctx, r, replace_all=replace_all)) is not None
    }
    wanted = [r for r in resources if id(r) not in refused]
    try:
        decided = await _decided(ctx, wanted, replace_all=replace_all, validate_only=validate_only)
    except LogError as error:  # the metadata log takes no records: nothing has changed
        return [answer(r, error.code, error.client_message) for r in resources]
    rest = iter(decided)
    return [answer(r, *refused[id(r)]) if id(r) in refused else next(rest) for r in resources]


async def _decided(
    ctx: RequestContext, resources: Sequence[ResourceChanges], *, replace_all: bool, validate_only: bool
) -> list[ConfigsAltered]:
    controller = ctx.broker.controller
    if not resources:
        return []
    if not controller.is_active and not ctx.peer.is_forwarded:
        with contextlib.suppress(ControllerIsLocal):
            return await _decided_elsewhere(ctx, resources, replace_all, validate_only)
    decide = controller.alter_configs if replace_all else controller.incremental_alter_configs
    return await decide(resources, validate_only=validate_only)


async def _decided_elsewhere(
    ctx: RequestContext, resources: Sequence[ResourceChanges], replace_all: bool, validate_only: bool
) -> list[ConfigsAltered]:
    """Send the changes that this broker accepts to the controller, which decides."""
    key, request = _request(resources, replace_all, validate_only)
    response = await ask_controller(ctx, key, request)
    answered = {(each.resource_type, each.resource_name): each for each in response.responses}
    return [
        answer(r, ErrorCode(found.error_code), found.error_message)
        for r in resources
        if (found := answered[r.resource_type, r.resource_name])
    ]


def _request(
    resources: Sequence[ResourceChanges], replace_all: bool, validate_only: bool
) -> tuple[int, whole.AlterConfigsRequest | incremental.IncrementalAlterConfigsRequest]:
    if replace_all:
        return whole.API_KEY, whole.AlterConfigsRequest(
            resources=[
                whole.AlterConfigsResource(
                    resource_type=r.resource_type,
                    resource_name=r.resource_name,
                    configs=[whole.AlterableConfig(name=c.name, value=c.value) for c in r.changes],
                )
                for r in resources
            ],
            validate_only=validate_only,
        )
    return incremental.API_KEY, incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=r.resource_type,
                resource_name=r.resource_name,
                configs=[
                    incremental.AlterableConfig(name=c.name, config_operation=c.operation, value=c.value)
                    for c in r.changes
                ],
            )
            for r in resources
        ],
        validate_only=validate_only,
    )


async def _refusal(
    ctx: RequestContext, resource: ResourceChanges, *, replace_all: bool
) -> tuple[ErrorCode, str | None] | None:
    code = settings_refusal(ctx, Operation.ALTER_CONFIGS, resource.resource_type, resource.resource_name)
    if code:
        return code, None
    if resource.resource_type == MIRROR and (reason := _mirror_refusal(ctx, resource.resource_name)):
        return ErrorCode.INVALID_REQUEST, reason
    if not is_of_broker(resource.resource_type, resource.resource_name) or ctx.peer.is_forwarded:
        return None
    try:
        await _check_own(ctx, resource, replace_all=replace_all)
    except Refusal as refusal:
        return refusal.code, refusal.message
    except ConfigError as error:
        return ErrorCode.INVALID_REQUEST, str(error)
    return None


def _mirror_refusal(ctx: RequestContext, name: str) -> str | None:
    """Kafka's controllers do not keep the records of mirrors, and cannot decide about them."""
    image, quorum = ctx.broker.controller.image, ctx.broker.quorum
    voters = image.kafka_voters(quorum.voter_ids)
    if not voters or (image.mirror(name) is not None and quorum.leader_id not in voters):
        return None
    return (
        f"Mirror {name} cannot be changed while nodes of Apache Kafka are controllers ({', '.join(map(str, voters))}): "
        "they do not keep mirrors. Replace these controllers first, or remove their votes"
    )


async def _check_own(ctx: RequestContext, resource: ResourceChanges, *, replace_all: bool) -> None:
    """Raises `Refusal` or `ConfigError` when these settings are another broker's, or this broker cannot apply them."""
    own, name = ctx.broker.node_id, resource.resource_name
    if not name.removeprefix("-").isdecimal():
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if int(name) != own:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {own}, but received {name}")
    config = ctx.broker.config
    after = config.with_dynamic(
        cluster_wide=config.cluster_wide,
        per_broker=settings_after(ctx.broker.controller.image, resource, replace_all=replace_all),
    )
    await ctx.broker.listeners.check(after)


def answer(
    resource: ResourceChanges, code: ErrorCode = ErrorCode.NONE, message: str | None = None
) -> ConfigsAltered:
    return ConfigsAltered(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        error=code,
        message=message,
    )
