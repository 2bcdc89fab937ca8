"""ListConfigResources (key 74), v0-v1: which topics, brokers, groups and metrics subscriptions have settings.

v0 lists client metrics subscriptions only (it was ListClientMetricsResources); from v1 on the request names the types,
and no type means all (KIP-1142). Topics and brokers are listed whether they have settings or not.
"""

from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.metadata.mirrors import MIRROR
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import list_config_resources as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext

VERSIONS = range(2)

_SUPPORTED = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
)


def handle(ctx: RequestContext, request: api.ListConfigResourcesRequest) -> api.ListConfigResourcesResponse:
    if not ctx.may_in_cluster(Operation.DESCRIBE_CONFIGS):
        return api.ListConfigResourcesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if list(request.resource_types) == [MIRROR]:  # a type of our own: listed only if it is asked for
        names = sorted(each.name for each in ctx.broker.controller.image.mirrors())
        return api.ListConfigResourcesResponse(
            config_resources=[api.ConfigResource(resource_name=name, resource_type=MIRROR) for name in names]
        )
    wanted = (
        (request.resource_types or list(_SUPPORTED)) if ctx.version >= 1 else [ResourceType.CLIENT_METRICS]
    )
    if any(kind not in _SUPPORTED for kind in wanted):
        return api.ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return api.ListConfigResourcesResponse(
        config_resources=[
            api.ConfigResource(resource_name=name, resource_type=kind)
            for kind in dict.fromkeys(wanted)
            for name in _names(ctx, ResourceType(kind))
        ]
    )


def _names(ctx: RequestContext, kind: ResourceType) -> list[str]:
    image = ctx.broker.controller.image
    if kind == ResourceType.TOPIC:
        return sorted(image.topics)
    if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(broker_id) for broker_id in sorted(image.brokers)]
    return sorted(name for resource, name in image.configs if resource == kind)
