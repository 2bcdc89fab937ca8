"""The listeners of a Kafka cluster with SASL or TLS and an authorizer: Penstock's brokers follow the same rules."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.cli.connect.requests import RequestClient
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import create_acls, fetch
from penstock.security.acl import PermissionType
from penstock.security.operations import Operation
from penstock.security.resources import PatternType, ResourceType
from tests.interop.kafka.mixed import MixedCluster, segment_bytes
from tests.interop.kafka.test_joining import ONE_REPLICA
from tests.support.certificates import Certificate, authority
from tests.support.plugin import require_kafka

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "false",
}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
Security = Callable[[Path], tuple[dict[str, str], dict[str, dict[str, str]]]]
"""The settings of nodes, and of clients by user."""
USERS = {"broker": "broker-secret", "alice": "alice-secret", "mallory": "mallory-secret"}


def of_sasl(_directory: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The settings of nodes, and of clients by user."""
    users = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
    module = f'{PLAIN} required username="broker" password="{USERS["broker"]}" {users};'
    nodes = {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": module,
        "listener.name.controller.plain.sasl.jaas.config": module,
        "inter.broker.listener.name": "PLAINTEXT",
        "super.users": "User:broker",
    }
    clients = {
        name: {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": name,
            "sasl.password": password,
        }
        for name, password in USERS.items()
    }
    return nodes, clients


def of_sasl_for_brokers(directory: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The listener of controllers asks for no login: there the nodes of Penstock need their token."""
    nodes, clients = of_sasl(directory)
    nodes["listener.security.protocol.map"] = "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT"
    nodes["super.users"] = "User:broker;User:ANONYMOUS"
    return nodes, clients


def of_tls(directory: Path) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    issuer = authority()
    trust = issuer.write_certificate(directory / "ca.pem")
    nodes = {
        "listener.security.protocol.map": "CONTROLLER:SSL,PLAINTEXT:SSL",
        "ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(issuer.issue(name="localhost").write(directory / "broker.pem")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust),
        "inter.broker.listener.name": "PLAINTEXT",
        "super.users": "User:CN=localhost",
    }
    clients = {name: _tls_client(directory, issuer, trust, name) for name in ("alice", "mallory")}
    return nodes, {**clients, "broker": _tls_client(directory, issuer, trust, "localhost")}


def _tls_client(directory: Path, issuer: Certificate, trust: Path, name: str) -> dict[str, str]:
    held = issuer.issue(name=name)
    key = directory / f"{name}.key"
    key.write_text(held.key_pem())
    return {
        "security.protocol": "SSL",
        "ssl.ca.location": str(trust),
        "ssl.certificate.location": str(held.write_certificate(directory / f"{name}.crt")),
        "ssl.key.location": str(key),
    }


def allow(requests: RequestClient, principal: str, topic: str) -> None:
    creation = create_acls.AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name=topic,
        resource_pattern_type=PatternType.LITERAL,
        principal=principal,
        host="*",
        operation=Operation.CREATE,
        permission_type=PermissionType.ALLOW,
    )
    with requests:
        answer = requests.ask(create_acls.CreateAclsRequest(creations=[creation]))
    assert not answer.results[0].error_code, answer


def create(bootstrap: str, client: Mapping[str, str], topic: str) -> KafkaError | None:
    """Create a topic as a user; returns the error."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, **client})
    try:
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    except KafkaException as failure:
        error: KafkaError = failure.args[0]
        return error
    return None


@pytest.mark.timeout(300)
@pytest.mark.parametrize("security", [of_sasl, of_sasl_for_brokers, of_tls], ids=lambda each: each.__name__)
def test_brokers_trust_each_other_by_the_rules_of_kafka(tmp_path: Path, security: Security) -> None:
    nodes, clients = security(tmp_path)
    alice = "User:CN=alice" if security is of_tls else "User:alice"
    settings = {**ONE_REPLICA, **AUTHORIZER, **nodes}
    cluster = MixedCluster(tmp_path, require_kafka(), 1, settings=settings, client_settings=clients["broker"])
    try:
        cluster.start_kafka()
        cluster.add_penstock(11)
        cluster.add_penstock(12)
        cluster.create_topic("t", [[1, 11, 12], [11, 12, 1], [12, 1, 11]])
        cluster.await_healthy()
        for number in range(3):
            cluster.produce("t", number, b"value")
        penstock, kafka = cluster.penstock[11].bootstrap, cluster.kafka[1].bootstrap
        allow(cluster.requests(), alice, "of-alice")
        for bootstrap in (penstock, kafka):
            refused = create(bootstrap, clients["mallory"], "of-alice")
            assert refused is not None
            assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert create(penstock, clients["alice"], "of-alice") is None
        assert acts_as_follower(penstock, clients["mallory"]) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        cluster.await_healthy()
        for number in range(3):
            replicas = {segment_bytes(cluster.data_of(each) / f"t-{number}") for each in (1, 11, 12)}
            assert len(replicas) == 1
            assert all(replicas)
        if security is of_sasl_for_brokers:
            tokens = {(cluster.data_of(each) / "cluster.secret").read_bytes() for each in (11, 12)}
            assert len(tokens) == 1
    finally:
        cluster.close()


def acts_as_follower(bootstrap: str, client: Mapping[str, str]) -> ErrorCode:
    """Fetch as broker 1 does; returns the error of the response."""
    request = fetch.FetchRequest(
        replica_state=fetch.ReplicaState(replica_id=1, replica_epoch=1), max_wait_ms=0
    )
    with RequestClient(bootstrap, [f"{name}={value}" for name, value in client.items()]) as requests:
        return ErrorCode(requests.ask_broker(11, request).error_code)
