"""DescribeCluster (key 60), v0-v2: the cluster's id, its controller and its brokers, or only its controllers.

Kafka's controllers describe themselves on a separate listener (KIP-919). Here every port serves both, so that tools
with `--bootstrap-controller` can be given any broker.
"""

from penstock.cluster.raft.values import Address
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_cluster as api
from penstock.security.operations import NOT_ASKED, Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import permitted_in_cluster

VERSIONS = range(3)

_BROKERS = 1
_CONTROLLERS = 2
_NOBODY = -1


def handle(ctx: RequestContext, request: api.DescribeClusterRequest) -> api.DescribeClusterResponse:
    if request.endpoint_type not in (_BROKERS, _CONTROLLERS):
        return api.DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    is_about_controllers = request.endpoint_type == _CONTROLLERS
    if is_about_controllers and not ctx.may_in_cluster(Operation.ALTER):  # as on a controller of Kafka
        return api.DescribeClusterResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    brokers = _controllers(ctx) if is_about_controllers else _brokers(ctx, request)
    return api.DescribeClusterResponse(
        endpoint_type=request.endpoint_type,
        cluster_id=ctx.broker.cluster_id,
        controller_id=_leader(ctx) if is_about_controllers else ctx.broker.node_id,
        brokers=brokers,
        cluster_authorized_operations=(
            permitted_in_cluster(ctx) if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _brokers(ctx: RequestContext, request: api.DescribeClusterRequest) -> list[api.DescribeClusterBroker]:
    found = []
    for broker in ctx.broker.controller.image.brokers.values():
        endpoint = broker.endpoint(ctx.peer.listener)
        if endpoint is None or (broker.fenced and not request.include_fenced_brokers):
            continue
        found.append(
            api.DescribeClusterBroker(
                broker_id=broker.broker_id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.rack,
                is_fenced=broker.fenced,
            )
        )
    return found


def _controllers(ctx: RequestContext) -> list[api.DescribeClusterBroker]:
    """The voters, at their addresses on the listener of the request, or as brokers there."""
    listener, brokers = ctx.peer.listener, ctx.broker.controller.image.brokers
    found = []
    for voter in ctx.broker.quorum.driver.node.voters:
        node_id = voter.key.node_id
        at: Address | Endpoint | None = next(
            (each for each in voter.endpoints if each.name == listener), None
        )
        if at is None and node_id in brokers:
            at = brokers[node_id].endpoint(listener)
        if at is not None:
            found.append(api.DescribeClusterBroker(broker_id=node_id, host=at.host, port=at.port))
    return found


def _leader(ctx: RequestContext) -> int:
    leader = ctx.broker.quorum.leader_id
    return _NOBODY if leader is None else leader
