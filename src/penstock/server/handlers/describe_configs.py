"""DescribeConfigs (key 32), v1-v4: settings of topics, brokers and groups, with the source of each value.

For a broker also its log levels (KIP-412), and the damaged records it knows of (`client/damage`).
"""

from collections.abc import Callable, Sequence

from penstock.client import damage, mirrors
from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.metadata.topic_names import invalid_name_reason
from penstock.config.broker import ConfigSource
from penstock.config.describe import (
    Described,
    describe_broker,
    describe_client_metrics,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from penstock.observability.log_levels import level_of, logger_names
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_configs as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import settings_refusal

VERSIONS = range(1, 5)

_UNKNOWN_KIND = 0  # Kafka does not say that a level is text
_STRING = 2


def handle(ctx: RequestContext, request: api.DescribeConfigsRequest) -> api.DescribeConfigsResponse:
    # Once each: ten request bytes that name this broker result in a hundred thousand response bytes.
    wanted: dict[tuple[int, str], api.DescribeConfigsResource] = {}
    for each in request.resources:
        wanted.setdefault((each.resource_type, each.resource_name), each)
    return api.DescribeConfigsResponse(results=[_describe(ctx, request, r) for r in wanted.values()])


def _describe(
    ctx: RequestContext, request: api.DescribeConfigsRequest, resource: api.DescribeConfigsResource
) -> api.DescribeConfigsResult:
    refusal = settings_refusal(
        ctx, Operation.DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name
    )
    found = (refusal, None) if refusal else _settings(ctx, resource)
    code, message = found if isinstance(found, tuple) else (ErrorCode.NONE, None)
    return api.DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[] if isinstance(found, tuple) else [_result(request, d) for d in found],
    )


def _settings(
    ctx: RequestContext, resource: api.DescribeConfigsResource
) -> list[Described] | tuple[ErrorCode, str]:
    image = ctx.broker.controller.image
    config = ctx.broker.config
    name = resource.resource_name
    # An empty list of names means all, as null does (KAFKA-9449).
    names = resource.configuration_keys or None
    match resource.resource_type:
        case ResourceType.TOPIC:
            invalid = invalid_name_reason(name)
            if invalid is not None:
                return ErrorCode.INVALID_TOPIC_EXCEPTION, invalid
            if image.topic(name) is None:
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {name} does not exist"
            return describe_topic(config, image.topic_settings(name), names)
        case ResourceType.BROKER if name == "":
            return describe_cluster_defaults(config, names)
        case ResourceType.BROKER if name == str(ctx.broker.node_id):
            return [*describe_broker(config, names), *_damage(ctx, names)]
        case ResourceType.BROKER:
            return (
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {ctx.broker.node_id} or empty string, but received {name}",
            )
        case ResourceType.BROKER_LOGGER if name != str(ctx.broker.node_id):
            return (
                ErrorCode.INVALID_REQUEST,
                f"Unexpected broker id, expected {ctx.broker.node_id} but received {name!r}",
            )
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS if name == "":
            return ErrorCode.INVALID_REQUEST, "The name must not be empty"
        case ResourceType.GROUP:
            return describe_group(config, image.group_settings(name), names)
        case ResourceType.CLIENT_METRICS:
            settings = image.configs.get((ResourceType.CLIENT_METRICS, name), {})
            return describe_client_metrics(config, settings, names)
        case ResourceType.BROKER_LOGGER:
            return _levels(names)
        case mirrors.RESOURCE_TYPE:
            return _mirror(ctx, name, names)
        case kind:
            return ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {kind}"


def _damage(ctx: RequestContext, names: Sequence[str] | None) -> list[Described]:
    """Not a setting: see `client/damage`."""
    if names is None or damage.NAME not in names:
        return []
    damaged = [
        damage.damaged_partition(
            name.topic, name.partition, ((r.base_offset, r.next_offset - 1) for r in ranges)
        )
        for name, ranges in sorted(ctx.broker.replicas.damage.items())
    ]
    encoded = damage.encode_damage(damaged)
    return [_described(damage.NAME, encoded, ConfigSource.DEFAULT, _STRING, read_only=True)]


def _mirror(
    ctx: RequestContext, name: str, names: Sequence[str] | None
) -> list[Described] | tuple[ErrorCode, str]:
    """A mirror's settings; if asked for, its progress on this broker and its outcome: see `client/mirrors`."""
    image = ctx.broker.controller.image
    settings = image.configs.get((mirrors.RESOURCE_TYPE, name))
    if settings is None:
        return ErrorCode.RESOURCE_NOT_FOUND, f"There is no mirror {name}"
    found = [
        _described(
            key,
            None if key == mirrors.CLIENT else value,
            ConfigSource.DYNAMIC_TOPIC,
            _STRING,
            read_only=False,
            sensitive=key == mirrors.CLIENT,
        )
        for key, value in settings.items()
        if names is None or key in names
    ]
    reports: dict[str, Callable[[], str]] = {
        mirrors.PROGRESS: lambda: mirrors.encode_progress(ctx.broker.mirrors.progress(name)),
        mirrors.OUTCOME: lambda: mirrors.encode_outcome(
            [each.outcome for each in image.mirrored_topics(name) if each.outcome]
        ),
    }
    return [
        *found,
        *(
            _described(key, report(), ConfigSource.DEFAULT, _STRING, read_only=True)
            for key, report in reports.items()
            if names is not None and key in names
        ),
    ]


def _levels(names: Sequence[str] | None) -> list[Described]:
    return [
        _described(name, level_of(name), ConfigSource.BROKER_LOGGER, _UNKNOWN_KIND, read_only=False)
        for name in logger_names()
        if names is None or name in names
    ]


def _described(
    name: str,
    value: str | None,
    source: ConfigSource,
    kind: int,
    *,
    read_only: bool,
    sensitive: bool = False,
) -> Described:
    return Described(
        name=name,
        value=value,
        source=source,
        synonyms=(),
        kind=kind,
        doc="",
        read_only=read_only,
        sensitive=sensitive,
    )


def _result(request: api.DescribeConfigsRequest, described: Described) -> api.DescribeConfigsResourceResult:
    return api.DescribeConfigsResourceResult(
        name=described.name,
        value=described.value,
        read_only=described.read_only,
        config_source=described.source,
        is_sensitive=described.sensitive,
        synonyms=[
            api.DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source)
            for s in described.synonyms
        ]
        if request.include_synonyms
        else [],
        config_type=described.kind,
        documentation=described.doc if request.include_documentation else None,
    )
