"""Chooses the version of a request to another node, by the versions that its ApiVersions response lists.

Nodes of Apache Kafka list the requests between nodes on the listeners that serve them. Nodes of Penstock list these
requests on listeners of controllers only: elsewhere they accept them, from members, in the newest version.
"""

from penstock.client.core.handshake import BrokerInfo
from penstock.cluster.metadata.state import is_kafka_node
from penstock.protocol import apis


class NoCommonVersion(ConnectionError):
    """The other node and this one have no version of a request in common."""


def common_version(peer: BrokerInfo, api_key: int, newest: int) -> int:
    """The newest version that both nodes know, not above `newest`. Raises `NoCommonVersion`."""
    name = apis.APIS[api_key].name
    listed = peer.versions.get(api_key)
    if listed is None:
        if not is_kafka_node(peer.supported_features):
            return newest
        raise NoCommonVersion(
            f"the node at {peer.address} does not serve {name} requests: this version of Penstock works with Kafka 4.0 "
            "and later, and with its listeners of brokers and controllers only"
        )
    lowest = apis.codec(api_key).VERSIONS[0]
    first, last = listed
    if min(last, newest) < max(first, lowest):
        raise NoCommonVersion(
            f"the node at {peer.address} serves {name} requests in versions {first} to {last}, and this node sends "
            f"{lowest} to {newest}: upgrade the older one of the two"
        )
    return min(last, newest)
