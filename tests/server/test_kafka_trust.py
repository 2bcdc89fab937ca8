import logging
from collections.abc import Mapping

import pytest

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import (
    REGISTERED_FEATURES,
    SUPPORTED_FEATURES,
    RegisteredBroker,
    RegisteredController,
)
from penstock.config.broker import BrokerConfig
from penstock.security.acl import AccessControlEntry, PermissionType
from penstock.security.acl_authorizer import AclAuthorizer
from penstock.security.authorizer import Authorizer
from penstock.security.mixed_cluster import MixedCluster
from penstock.security.operations import Operation
from penstock.security.principal import Principal
from penstock.security.resources import CLUSTER_NAME, PatternType, ResourceType
from penstock.server.connections import Peer
from penstock.server.kafka_trust import KafkaTrust

KAFKA = {**SUPPORTED_FEATURES, "metadata.version": (7, 30)}
LISTENERS = "CLIENTS://:1,BROKERS://:2,CONTROLLER://:3"
MAP = "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT"
ALICE, BOB = Principal("alice"), Principal("bob")


class Stage:
    """A node, the members of its cluster, and the peers that connect to it."""

    def __init__(self, authorizer: Authorizer | None = None, **settings: str) -> None:
        config = BrokerConfig(
            {
                "listeners": LISTENERS,
                "listener.security.protocol.map": MAP,
                "inter.broker.listener.name": "BROKERS",
                "controller.listener.names": "CONTROLLER",
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        self.mixed = MixedCluster()
        self.image = MetadataImage("cluster")
        self.voter_ids: tuple[int, ...] = ()
        self.trust = KafkaTrust(
            self.mixed,
            self.image,
            lambda: config,
            authorizer or Authorizer(),
            voter_ids=lambda: self.voter_ids,
        )

    def register(self, broker_id: int, features: Mapping[str, tuple[int, int]]) -> None:
        self.image.brokers[broker_id] = RegisteredBroker(
            broker_id=broker_id,
            epoch=1,
            incarnation_id=bytes(16),
            endpoints=(),
            rack=None,
            fenced=False,
            features=features,
        )
        self.changed(broker_id)

    def changed(self, broker_id: int) -> None:
        delta = MetadataDelta(1)
        delta.brokers_changed.add(broker_id)
        self.trust.follow(delta)

    def admits(self, listener: str, principal: Principal | None = None) -> bool:
        peer = Peer(listener, "127.0.0.1", 1)
        peer.trust = self.trust.admits
        if principal is not None:
            peer.principal = principal
        return peer.is_broker


def test_while_kafkas_nodes_are_members_the_listeners_of_brokers_and_controllers_are_trusted() -> None:
    stage = Stage()
    stage.register(1, KAFKA)
    stage.register(2, REGISTERED_FEATURES)
    assert stage.admits("BROKERS")
    assert stage.admits("CONTROLLER")
    assert not stage.admits("CLIENTS")


def test_no_listener_is_trusted_in_a_cluster_of_penstock() -> None:
    stage = Stage()
    stage.register(1, REGISTERED_FEATURES)
    assert not stage.admits("BROKERS")


def test_a_penstock_that_does_not_register_penstock_version_yet_is_no_node_of_kafka() -> None:
    stage = Stage()
    stage.register(1, SUPPORTED_FEATURES)
    assert not stage.admits("BROKERS")


def test_the_trust_ends_when_the_last_node_of_kafka_is_unregistered(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    stage.register(1, KAFKA)
    stage.register(2, REGISTERED_FEATURES)
    del stage.image.brokers[1]
    caplog.clear()
    with caplog.at_level(logging.INFO):
        stage.changed(1)
    assert not stage.admits("BROKERS")
    assert caplog.messages == [
        "The last node of Apache Kafka has left: brokers must prove the cluster's token again"
    ]


def test_a_controller_of_kafka_counts_while_it_is_a_voter() -> None:
    stage = Stage()
    stage.image.controllers[9] = RegisteredController(
        controller_id=9, incarnation_id=bytes(16), endpoints=(), features=KAFKA
    )
    stage.voter_ids = (2, 9)
    stage.register(2, REGISTERED_FEATURES)
    assert stage.admits("BROKERS")
    stage.voter_ids = (2,)
    stage.changed(2)
    assert not stage.admits("BROKERS")


def test_until_the_metadata_is_known_the_configuration_decides() -> None:
    stage = Stage()
    stage.mixed.is_mixed = True
    stage.trust.follow(MetadataDelta(0))
    assert stage.admits("CONTROLLER")
    stage.register(1, REGISTERED_FEATURES)
    assert not stage.admits("CONTROLLER")


def test_each_trusted_listener_without_authentication_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(
        listener_security_protocol_map="CLIENTS:PLAINTEXT,BROKERS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
    )
    stage.register(1, KAFKA)
    stage.register(3, KAFKA)
    assert [(each.levelname, each.args) for each in caplog.records] == [("WARNING", ("CONTROLLER",))]


def test_with_an_authorizer_a_peer_needs_cluster_action_or_is_a_super_user() -> None:
    authorizer = AclAuthorizer(super_users=frozenset({BOB}), allow_everyone_if_no_acl_found=False)
    stage = Stage(authorizer)
    stage.register(1, KAFKA)
    assert not stage.admits("BROKERS")
    assert not stage.admits("BROKERS", ALICE)
    assert stage.admits("BROKERS", BOB)
    entry = AccessControlEntry(
        resource_type=ResourceType.CLUSTER,
        resource_name=CLUSTER_NAME,
        pattern_type=PatternType.LITERAL,
        principal=str(ALICE),
        host="*",
        operation=Operation.CLUSTER_ACTION,
        permission_type=PermissionType.ALLOW,
    )
    authorizer.follow({b"id": entry}, {b"id"})
    assert stage.admits("BROKERS", ALICE)
    assert not stage.admits("CLIENTS", ALICE)
