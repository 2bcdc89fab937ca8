"""Brokers authenticate each other: a cluster over TLS and SCRAM, started, and restarted after all were down."""

import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from tests.support.broker import BrokerFailed, BrokerProcess, free_port
from tests.support.certificates import Certificate, authority
from tests.support.cluster import eventually

PASSWORD = "brokers-secret"


class Cluster:
    """Nodes from 1 on. All have the same authority, user and password by default."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.issuer = authority()
        self.authority = self.issuer.write_certificate(directory / "ca.pem")
        self.nodes: dict[int, BrokerProcess] = {}

    def node(
        self, number: int, *, password: str = PASSWORD, issuer: Certificate | None = None
    ) -> BrokerProcess:
        """A new node of the cluster, or a returning one, which needs no node to join through."""
        known = self.nodes.get(number)
        port = free_port() if known is None else known.port
        trusted = issuer or self.issuer
        arguments = ["--node-id", str(number), "--listen", f"SASL_SSL://127.0.0.1:{port}"]
        if self.nodes and known is None:
            arguments += ["--join", self.nodes[1].bootstrap]
        settings = {
            "security.inter.broker.protocol": "SASL_SSL",
            "ssl.keystore.location": str(trusted.issue().write(self._directory / f"key-{number}.pem")),
            "ssl.truststore.location": str(trusted.write_certificate(self._directory / f"ca-{number}.pem")),
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256",
            "sasl.jaas.config": f'ScramLoginModule required username="broker" password="{password}";',
            "offsets.topic.num.partitions": "1",
        }
        return BrokerProcess(
            self._directory / f"node-{number}", settings=settings, arguments=arguments, port=port
        )

    def certificate_of(self, node: BrokerProcess) -> bytes | None:
        context = ssl.create_default_context(cafile=str(self.authority))
        with (
            socket.create_connection(("127.0.0.1", node.port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secured,
        ):
            return secured.getpeercert(binary_form=True)

    def shows_another(self, node: BrokerProcess, before: bytes | None) -> bool:
        return self.certificate_of(node) != before

    def client(self) -> dict[str, object]:
        return {
            "bootstrap.servers": ",".join(node.bootstrap for node in self.nodes.values()),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority),
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "broker",
            "sasl.password": PASSWORD,
            "log_level": 0,
        }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for number in (1, 2, 3):
            node = made.node(number)
            made.nodes[number] = node
            node.start()
        yield made
    finally:
        for node in made.nodes.values():
            if node.is_running:
                node.kill()


def test_records_survive_a_restart_of_all_brokers(cluster: Cluster) -> None:
    admin = AdminClient(cluster.client())
    admin.create_topics([NewTopic("t", 1, 3, config={"min.insync.replicas": "3"})])["t"].result(30)
    errors: list[object] = []
    producer = Producer(cluster.client())
    producer.produce("t", b"kept", on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(30) == 0
    assert errors == [None]
    for node in cluster.nodes.values():
        node.kill()
    for number in cluster.nodes:
        cluster.nodes[number] = cluster.node(number)
    # None of them has the metadata before a leader is elected, and for that they must accept each other's logins.
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda node: node.start(), cluster.nodes.values()))
    consumer = Consumer({**cluster.client(), "group.id": "g"})
    consumer.assign([TopicPartition("t", 0, 0)])
    message = consumer.poll(30)
    assert message is not None
    assert message.value() == b"kept"
    consumer.close()


def test_every_broker_reloads_a_new_certificate_while_it_runs(cluster: Cluster, tmp_path: Path) -> None:
    admin = AdminClient(cluster.client())
    for number, node in cluster.nodes.items():
        before = cluster.certificate_of(node)
        path = cluster.issuer.issue().write(tmp_path / f"new-{number}.pem")
        name = "listener.name.sasl_ssl.ssl.keystore.location"
        change = ConfigEntry(name, str(path), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource("broker", str(number), incremental_configs=[change])
        admin.incremental_alter_configs([resource])[resource].result(30)
        eventually(partial(cluster.shows_another, node, before), "a new certificate")


def test_a_broker_with_a_wrong_password_does_not_join(cluster: Cluster) -> None:
    intruder = cluster.node(4, password="guessed-secret")
    with pytest.raises(BrokerFailed) as failed:
        intruder.start()
    output = str(failed.value).rpartition("---")[2]
    assert "cannot join the cluster of" in output
    assert "invalid credentials" in output
    line = next(each for each in output.splitlines() if each.startswith("penstock: "))
    assert "guessed-secret" not in line


def test_a_broker_that_does_not_trust_the_others_does_not_join(cluster: Cluster) -> None:
    with pytest.raises(BrokerFailed, match="certificate verify failed"):
        cluster.node(5, issuer=authority("Somebody else")).start()
