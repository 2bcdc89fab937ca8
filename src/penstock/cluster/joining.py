"""Asks a member of a running cluster for the cluster id, before this node formats a data directory for it.

The member is any broker of Penstock, or a controller of Apache Kafka or Penstock. A controller also says which feature
levels the cluster has and which ids its controllers have, so that a node that cannot join changes nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from penstock.client.connection import Connection
from penstock.client.errors import ClientError
from penstock.cluster.metadata.state import SUPPORTED_FEATURES
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import describe_cluster as api
from penstock.security.cluster_secret import JOIN_HINT
from penstock.security.dialer import NotAMember, PeerRefused

_VERSION_OF_BROKERS, _VERSION_OF_CONTROLLERS = 0, 1
_CONTROLLERS = 2
_TIMEOUT_S = 5.0


class JoinFailed(Exception):
    """No member answers, or a member refuses this node; the message says what to do."""


class JoinRefused(JoinFailed):
    """A member refuses this node, or this node cannot work with the cluster."""


class Members(NamedTuple):
    """Some members of the cluster to join, and the listener at these addresses."""

    addresses: Sequence[tuple[str, int]]
    listener: str
    are_controllers: bool = False

    @property
    def setting(self) -> str:
        """How an operator has named them."""
        return "controller.quorum.bootstrap.servers" if self.are_controllers else "--join HOST:PORT"


class FoundCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of a member; only a controller tells the feature levels and the ids of the controllers."""

    cluster_id: str
    features: Mapping[str, int] = {}
    controller_ids: Sequence[int] = ()


Dial = Callable[[Endpoint], Awaitable[Connection]]


async def find_cluster(members: Members, dial: Dial) -> FoundCluster:
    """The cluster of the first member that answers. Raises `JoinFailed`."""
    reasons = []
    for host, port in members.addresses:
        endpoint = Endpoint(name=members.listener, host=host, port=port, security_protocol="PLAINTEXT")
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                connection = await dial(endpoint)
                try:
                    return await _ask(connection, members, f"{host}:{port}")
                finally:
                    await connection.close()
        except NotAMember as error:
            raise JoinRefused(
                f"cannot join the cluster of {host}:{port}: {error}. A node that joins needs the cluster's token: "
                f"{JOIN_HINT}. A cluster of Apache Kafka is joined through its controllers: name them in "
                "controller.quorum.bootstrap.servers"
            ) from None
        except PeerRefused as error:  # it is of another cluster
            raise JoinRefused(f"cannot join the cluster of {host}:{port}: {error}") from None
        except (OSError, ProtocolError, ClientError) as error:
            reasons.append(f"{host}:{port}: {error or type(error).__name__}")
    raise JoinFailed(
        f"no member of the cluster answers ({'; '.join(reasons)}): start one first, or correct {members.setting}"
    )


async def _ask(connection: Connection, members: Members, address: str) -> FoundCluster:
    if not members.are_controllers:
        response: api.DescribeClusterResponse = await connection.call(
            api.API_KEY, _VERSION_OF_BROKERS, api.DescribeClusterRequest()
        )
        return FoundCluster(cluster_id=response.cluster_id)
    request = api.DescribeClusterRequest(endpoint_type=_CONTROLLERS)
    response = await connection.call(api.API_KEY, _VERSION_OF_CONTROLLERS, request)
    if response.error_code:
        raise JoinRefused(f"cannot join the cluster of {address}: {_reason(response)}")
    return FoundCluster(
        cluster_id=response.cluster_id,
        features=connection.info.features,
        controller_ids=[each.broker_id for each in response.brokers],
    )


def _reason(response: api.DescribeClusterResponse) -> str:
    code = ErrorCode(response.error_code)
    if code is ErrorCode.MISMATCHED_ENDPOINT_TYPE:
        return (
            "it is a listener of brokers. Name the listeners of controllers in "
            "controller.quorum.bootstrap.servers"
        )
    if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return "the user of this node may not ask for the cluster id there. Add it to super.users of the controllers"
    return f"it answers {code.name}: {response.error_message}"


def check_features(cluster: FoundCluster) -> None:
    """Raises `JoinRefused` when the cluster has a level that this version does not support."""
    for name, level in cluster.features.items():
        low, high = SUPPORTED_FEATURES.get(name, (0, 0))
        if level and not low <= level <= high:
            raise JoinRefused(
                f"cannot join cluster {cluster.cluster_id}: it has {name} at level {level}, and this version of "
                f"Penstock works with {low} to {high}. Use a version of Penstock for that level, or change the level "
                "with kafka-features.sh"
            )


def check_node_id(cluster: FoundCluster, node_id: int) -> None:
    """Raises `JoinRefused` when a controller of the cluster has the id of this new node."""
    if node_id in cluster.controller_ids:
        raise JoinRefused(
            f"cannot join cluster {cluster.cluster_id}: its controller {node_id} has the id of this node. Choose "
            "another node.id"
        )
