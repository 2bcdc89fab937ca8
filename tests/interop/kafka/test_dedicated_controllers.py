"""Dedicated controllers of Kafka, which are no brokers, are replaced by dedicated controllers of Penstock."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.kafka.load import COPIES, LOAD, Load
from tests.interop.kafka.rolling import RollingCluster
from tests.interop.kafka.test_docs_of_clusters import PAGE, translated
from tests.support.broker import BrokerProcess, free_port
from tests.support.kafka_node import KafkaNode
from tests.support.plugin import require_kafka

CONTROLLERS, NEW_CONTROLLERS = (1, 2, 3), (11, 12, 13)
KAFKA_BROKERS, PENSTOCK_BROKER = (4, 5), 6
BROKERS = (*KAFKA_BROKERS, PENSTOCK_BROKER)
PARTITIONS = 3


def documented_settings() -> str:
    """The settings of a dedicated controller in docs/moving-from-kafka.md."""
    (found,) = re.findall(r"```properties\n(# penstock-21.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return str(found)


class DedicatedCluster(RollingCluster):
    """Three controllers of Kafka; two brokers of Kafka and one of Penstock."""

    def __init__(self, directory: Path, jars: Path) -> None:
        super().__init__(directory, jars, len(CONTROLLERS))
        self._home = directory
        self._new_ports = {number: free_port() for number in NEW_CONTROLLERS}
        self.quorum_nodes: dict[int, KafkaNode | BrokerProcess] = {}

    def start(self) -> None:
        for number, node in self.kafka.items():
            listener = f"CONTROLLER://{self.controllers[number]}"
            node.write_config(
                {"process.roles": "controller", "listeners": listener, "advertised.listeners": listener}
            )
        self.start_kafka()
        self.quorum_nodes.update(self.kafka)
        self.kafka = {}
        # A broker of Kafka looks for the leader at these addresses only, not at those of the voters that it knows.
        new = [f"localhost:{port}" for port in self._new_ports.values()]
        servers = {"controller.quorum.bootstrap.servers": ",".join([*self.controllers.values(), *new])}
        for number in KAFKA_BROKERS:
            self.add_kafka_broker(number, **servers)
        self.add_penstock(PENSTOCK_BROKER)

    def add_penstock_controller(self, number: int) -> None:
        """Start a controller of Penstock, which becomes a voter by itself."""
        home = self._home / f"penstock-{number}"
        home.mkdir()
        port = self._new_ports[number]
        config = home / "server.properties"
        here = {
            "node.id=21": f"node.id={number}",
            "10.0.0.21:9093": f"localhost:{port}",
            "10.0.0.1:9093,10.0.0.2:9093,10.0.0.3:9093": ",".join(self.controllers.values()),
            "/var/lib/penstock": str(home / "data"),
        }
        config.write_text(translated(documented_settings(), here))
        node = BrokerProcess(home, config=config, host="localhost", port=port)
        self.quorum_nodes[number] = node.start()
        self.controllers[number] = f"localhost:{port}"
        self.await_voters(*self.controllers)

    def remove_controller(self, number: int) -> None:
        self.quorum_nodes.pop(number).terminate()
        del self.controllers[number]
        self.run_cli("cluster", "remove", str(number))
        self.await_voters(*self.controllers)

    def close(self) -> None:
        super().close()
        for node in self.quorum_nodes.values():
            if node.is_running:
                node.kill()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DedicatedCluster]:
    made = DedicatedCluster(tmp_path, require_kafka())
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.mark.timeout(540)
def test_dedicated_controllers_are_replaced_one_by_one_under_load(
    cluster: DedicatedCluster, tmp_path: Path
) -> None:
    for topic in (LOAD, COPIES):
        cluster.create_topic(topic, [[*BROKERS[each:], *BROKERS[:each]] for each in range(PARTITIONS)])
    load = Load(tmp_path, cluster.bootstrap, PARTITIONS, 0.03)
    try:
        load.await_progress()
        for old, new in zip(CONTROLLERS, NEW_CONTROLLERS, strict=True):
            cluster.add_penstock_controller(new)
            load.await_progress()
            cluster.remove_controller(old)
            load.await_progress()
        assert cluster.leader in NEW_CONTROLLERS
        leader = cluster.quorum_nodes[cluster.leader]
        assert isinstance(leader, BrokerProcess)
        leader.kill()
        load.await_progress()
        leader.start()
        load.finish()
    finally:
        print(load.pauses(), load.failures, load.describe())
        load.close()


@pytest.mark.timeout(400)
def test_a_dedicated_controller_becomes_one_of_penstock_where_it_is(
    cluster: DedicatedCluster, tmp_path: Path
) -> None:
    was_kafka = dict(cluster.quorum_nodes)
    for number, kafka in was_kafka.items():
        kafka.terminate()
        node = BrokerProcess(
            tmp_path / f"penstock-{number}",
            config=tmp_path / f"kafka-{number}" / "server.properties",
            host="localhost",
            port=int(cluster.controllers[number].rpartition(":")[2]),
        )
        cluster.quorum_nodes[number] = node.start()
        cluster.await_voters(*CONTROLLERS)
        cluster.create_topic(f"after-{number}", [list(BROKERS)])
        cluster.produce(f"after-{number}", 0, b"one")
    assert cluster.leader in CONTROLLERS
    cluster.quorum_nodes[1].terminate()
    cluster.quorum_nodes[1] = was_kafka[1]
    was_kafka[1].start()
    cluster.await_voters(*CONTROLLERS)
    cluster.await_healthy()
    cluster.create_topic("after-the-return", [list(BROKERS)])
