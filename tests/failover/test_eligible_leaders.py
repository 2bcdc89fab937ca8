"""Three real brokers: `min.insync.replicas` of a partition on two of them changes while one of the two is dead."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import NewTopic

from penstock.client.connection import Connection
from penstock.cluster.metadata.image import ResourceType
from penstock.protocol.messages import incremental_alter_configs as alter
from tests.failover.writer import read_all
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

pytestmark = pytest.mark.timeout(120)

TOPIC = "orders"
ONE, OTHER, THIRD = 2, 3, 1  # two that hold the partition, and one to find the cluster
COUNT = 20
NOBODY = -1
SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "200",
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
}


def set_min_isr(cluster: ClusterProcesses, value: str, kind: int, name: str) -> None:
    """Of a topic or of all brokers; confluent's client cannot express the latter."""

    async def send() -> None:
        host, _, port = cluster.bootstrap.split(",")[0].rpartition(":")
        connection = await Connection.open(host, int(port))
        config = alter.AlterableConfig(name="min.insync.replicas", config_operation=0, value=value)
        resource = alter.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
        request = alter.IncrementalAlterConfigsRequest(resources=[resource])
        answer: Any = await connection.call(alter.API_KEY, 1, request)
        await connection.close()
        assert [each.error_code for each in answer.responses] == [0]

    asyncio.run(send())


def write_acknowledged(cluster: ClusterProcesses, numbers: range) -> None:
    """Write numbers with acks=all, each of which must be acknowledged."""
    refused: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(error)

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0})
    for number in numbers:
        producer.produce(TOPIC, str(number).encode(), on_delivery=on_delivery)
    assert (producer.flush(30), refused) == (0, [])


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param((ResourceType.TOPIC, TOPIC), id="topic"),
        pytest.param((ResourceType.BROKER, ""), id="brokers"),
    ],
)
def test_records_that_one_replica_committed_alone_are_not_lost_to_the_formerly_eligible_one(
    tmp_path: Path, resource: tuple[ResourceType, str]
) -> None:
    in_topic = {"min.insync.replicas": "2"} if resource[0] is ResourceType.TOPIC else {}
    with running_cluster(tmp_path, settings={**SETTINGS, "min.insync.replicas": "2"}) as cluster:
        admin = cluster.admin()
        admin.create_topics([NewTopic(TOPIC, 1, replica_assignment=[[ONE, OTHER]], config=in_topic)])[
            TOPIC
        ].result(30)
        write_acknowledged(cluster, range(COUNT))
        cluster.nodes[OTHER].kill()
        eventually(lambda: cluster.in_sync(TOPIC) == [{ONE}], "the other is out of sync")
        set_min_isr(cluster, "1", *resource)
        write_acknowledged(cluster, range(COUNT, 2 * COUNT))
        set_min_isr(cluster, "2", *resource)

        cluster.nodes[ONE].kill()
        cluster.nodes[OTHER].start()
        third = cluster.nodes[THIRD].bootstrap
        eventually(lambda: ONE not in cluster.in_sync(TOPIC, third)[0], "the one is out of sync")
        assert cluster.leader_of(TOPIC) == NOBODY, "the other lacks acknowledged records"
        cluster.nodes[ONE].start()
        found = read_all(cluster.bootstrap, TOPIC, {0: 2 * COUNT})
        assert [value for _, value in found[0]] == [str(number).encode() for number in range(2 * COUNT)]
