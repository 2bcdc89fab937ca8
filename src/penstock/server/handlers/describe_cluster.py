"""DescribeCluster (key 60), v0-v2: the cluster's id, its controller and its brokers."""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from penstock.security.operations import NOT_ASKED
from penstock.server.context import RequestContext
from penstock.server.permissions import permitted_in_cluster

_BROKERS = 1
_CONTROLLERS = 2


def handle(ctx: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if (
        request.endpoint_type == _CONTROLLERS
    ):  # KIP-919: only a controller's own listener describes controllers
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to a broker, but asks for the endpoints of controllers.",
        )
    if request.endpoint_type != _BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    image = ctx.broker.controller.image
    brokers = []
    for broker in image.brokers.values():
        endpoint = broker.endpoint(ctx.peer.listener)
        if endpoint is None or (broker.fenced and not request.include_fenced_brokers):
            continue
        brokers.append(
            DescribeClusterBroker(
                broker_id=broker.broker_id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.rack,
                is_fenced=broker.fenced,
            )
        )
    return DescribeClusterResponse(
        cluster_id=ctx.broker.cluster_id,
        controller_id=ctx.broker.node_id,
        brokers=brokers,
        cluster_authorized_operations=(
            permitted_in_cluster(ctx) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )
