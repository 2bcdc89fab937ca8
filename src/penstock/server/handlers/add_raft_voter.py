"""AddRaftVoter (key 80), v0-v1: add a voter to the metadata quorum (KIP-853).

A broker may add itself. Other clients may only add a registered broker or controller at its registered endpoints: nodes
connect to voters, and prove the secret of the cluster to them. While there are mirrors, only nodes of Penstock get
a vote: a controller of Kafka would not keep them.
"""

from typing import Any

from penstock.client.core.handshake import SOFTWARE_NAME
from penstock.cluster.metadata.state import is_kafka_node
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.quorum_requests import ask_quorum

VERSIONS = range(2)


def handle(ctx: RequestContext, request: AddRaftVoterRequest) -> Any:
    if not ctx.may_in_cluster(Operation.ALTER):
        return AddRaftVoterResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if not ctx.peer.is_broker and not _is_registered(ctx, request):
        return AddRaftVoterResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="A voter is a registered broker or controller, at the addresses that it has registered",
        )
    if any(ctx.broker.controller.image.mirrors()) and not _is_penstock(ctx, request.voter_id):
        return AddRaftVoterResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="The cluster has mirrors, which controllers of Apache Kafka do not keep: delete them first",
        )
    return ask_quorum(ctx, request, AddRaftVoterResponse)


def _is_penstock(ctx: RequestContext, node_id: int) -> bool:
    """By its registration; a node that asks for itself may not be registered yet."""
    image = ctx.broker.controller.image
    node = image.brokers.get(node_id) or image.controllers.get(node_id)
    return ctx.peer.software_name == SOFTWARE_NAME if node is None else not is_kafka_node(node.features)


def _is_registered(ctx: RequestContext, request: AddRaftVoterRequest) -> bool:
    image = ctx.broker.controller.image
    registered = (image.brokers.get(request.voter_id), image.controllers.get(request.voter_id))
    known = {(at.name, at.host, at.port) for each in registered if each is not None for at in each.endpoints}
    return bool(known) and all((each.name, each.host, each.port) in known for each in request.listeners)
