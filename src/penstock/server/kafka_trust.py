"""Trust between brokers while nodes of Apache Kafka are in the cluster: Kafka's own (ADR 23).

Kafka's nodes cannot prove a cluster secret. While the metadata has any, a peer also counts as a broker if it is
connected to a listener that is named for brokers or controllers, and Kafka would trust it there: with an authorizer it
needs CLUSTER_ACTION on the cluster, without one every peer that the listener admits is trusted.
"""

import logging
from collections.abc import Callable, Collection

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.config.broker import BrokerConfig
from penstock.config.settings import network, security
from penstock.security.authorizer import Authorizer
from penstock.security.dialer import is_authenticated
from penstock.security.mixed_cluster import MixedCluster
from penstock.security.operations import Operation
from penstock.security.resources import CLUSTER_NAME, ResourceType
from penstock.server.connections import Peer

log = logging.getLogger(__name__)


class KafkaTrust:
    def __init__(
        self,
        mixed: MixedCluster,
        image: MetadataImage,
        config: Callable[[], BrokerConfig],
        authorizer: Authorizer,
        *,
        voter_ids: Callable[[], Collection[int]],
    ) -> None:
        self._mixed = mixed
        self._image = image
        self._config = config
        self._authorizer = authorizer
        self._voter_ids = voter_ids
        self._listeners = broker_listeners(config())
        self._was_logged = False
        self._expected_up_to = -1

    def expect_kafka_nodes(self, last_offset: int) -> None:
        """The log of this node has registrations of Kafka's nodes, which may not be committed up to this offset.

        Until they are, or others take their place, this node needs those nodes to find out.
        """
        self._mixed.change(is_mixed=True)
        self._expected_up_to = last_offset

    def admits(self, peer: Peer) -> bool:
        """Whether a peer counts as a broker as it would in Kafka."""
        if not self._mixed.is_mixed or peer.listener not in self._listeners:
            return False
        authorizer = self._authorizer
        return not authorizer.is_enforcing or authorizer.allows(
            peer.principal, peer.host, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        )

    def follow(self, _delta: MetadataDelta) -> None:
        """Take the state of the cluster from the metadata, as soon as it has members.

        The voters may have changed with every delta, also with an empty one.
        """
        if self._image.offset < self._expected_up_to:
            return
        if self._image.brokers or self._image.controllers:
            is_allowed = self._config()[security.ALLOW_KAFKA_NODES]
            has_kafka_nodes = len(self._image.kafka_nodes(self._voter_ids())) > 0
            self._mixed.change(is_mixed=is_allowed or has_kafka_nodes)
            self._log_change()

    def _log_change(self) -> None:
        if self._mixed.is_mixed == self._was_logged:
            return
        self._was_logged = self._mixed.is_mixed
        if not self._mixed.is_mixed:
            log.info("The last node of Apache Kafka has left: brokers must prove the cluster's token again")
            return
        config = self._config()
        for each in config.listeners:
            if each.name in self._listeners and not is_authenticated(config, each.name):
                log.warning(
                    "Nodes of Apache Kafka are in the cluster, or may join it, and cannot prove its token: until they "
                    "have left, every client of this listener may act as a broker. listener=%s",
                    each.name,
                )


def broker_listeners(config: BrokerConfig) -> frozenset[str]:
    """The listeners named for brokers and controllers."""
    names = {name.upper() for name in config[network.CONTROLLER_LISTENER_NAMES]}
    return frozenset({config.inter_broker_listener, *names})
