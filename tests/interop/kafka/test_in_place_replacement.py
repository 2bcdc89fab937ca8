"""Nodes change their kind on the directory they have: the same node id, address, replicas and vote."""

from pathlib import Path

import pytest

from tests.interop.kafka.rolling import RollingCluster
from tests.support.broker import BrokerProcess
from tests.support.plugin import require_kafka

NODES = (1, 2, 3)


def check(cluster: RollingCluster, event: str) -> None:
    """Every replica is in sync, every partition takes records, and the voters are the same."""
    cluster.await_healthy()
    cluster.await_voters(*NODES)
    for number in range(3):
        cluster.produce("kept", number, event.encode())


@pytest.mark.timeout(400)
def test_each_node_of_kafka_becomes_one_of_penstock_and_of_kafka_again_where_it_is(tmp_path: Path) -> None:
    cluster = RollingCluster(tmp_path, require_kafka(), 3)
    try:
        cluster.start_kafka()
        cluster.create_topic("kept", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
        check(cluster, "at the beginning")
        was_kafka = dict(cluster.kafka)
        for number, kafka in was_kafka.items():
            kafka.terminate()
            del cluster.kafka[number]
            config = tmp_path / f"kafka-{number}" / "server.properties"
            node = BrokerProcess(
                tmp_path / f"penstock-{number}", config=config, host="localhost", port=kafka.port
            )
            cluster.penstock[number] = node.start()
            check(cluster, f"{number} is Penstock's")
        cluster.allow_kafka_nodes()
        for number, kafka in was_kafka.items():
            cluster.penstock.pop(number).terminate()
            cluster.kafka[number] = kafka.start()
            check(cluster, f"{number} is Kafka's again")
        assert cluster.values("kept", 0) == [
            b"at the beginning",
            *(b"%d is Penstock's" % each for each in NODES),
            *(b"%d is Kafka's again" % each for each in NODES),
        ]
    finally:
        cluster.close()
