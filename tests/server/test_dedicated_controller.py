"""A node that is only a controller, and a broker that joins it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.client.connection import Connection
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import create_topics, describe_cluster, metadata
from penstock.server.broker import StartFailed
from tests.server.live import Client, Live, batch, running_broker, until, values_in

CONTROLLER = {
    "process.roles": "controller",
    "listeners": "CONTROLLER://127.0.0.1:0",
    "controller.listener.names": "CONTROLLER",
}


def broker_of(controller: Live) -> Mapping[str, str]:
    return {
        "process.roles": "broker",
        "node.id": "2",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"{controller.host}:{controller.port}",
        "offsets.topic.num.partitions": "1",
    }


async def test_brokers_join_a_controller_that_is_no_broker_and_it_continues_after_a_restart(
    tmp_path: Path,
) -> None:
    settings = dict(CONTROLLER)
    async with running_broker(tmp_path / "1", settings) as controller:
        settings["listeners"] = f"CONTROLLER://{controller.host}:{controller.port}"
        token = controller.services.secret.value
        async with running_broker(tmp_path / "2", broker_of(controller), secret=token) as broker:
            client = await broker.connect()
            topic = await client.create_topic()
            await until(lambda: topic.name in broker.services.controller.image.topics)
            assert (await client.produce(topic, batch(b"one"))).base_offset == 0
            assert list(controller.services.controller.image.brokers) == [2]
            assert not list(controller.services.replicas)
            await client.close()
    async with (
        running_broker(tmp_path / "1", settings) as controller,
        running_broker(tmp_path / "2", broker_of(controller)) as broker,
    ):
        client = await broker.connect()
        assert values_in(await client.fetch(topic, 0)) == [b"one"]
        await client.create_topic()
        await client.close()


async def test_a_controller_serves_administrators_and_no_clients(tmp_path: Path) -> None:
    async with running_broker(tmp_path, CONTROLLER) as controller:
        await until(lambda: controller.services.controller.image.controllers)
        admin = Client(await Connection.open(controller.host, controller.port))
        described = await admin.send(describe_cluster.DescribeClusterRequest(endpoint_type=2))
        assert [each.broker_id for each in described.brokers] == [1]
        topic = create_topics.CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        made = await admin.send(create_topics.CreateTopicsRequest(topics=[topic], timeout_ms=1000))
        assert made.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        with pytest.raises(ConnectionError):
            await admin.send(metadata.MetadataRequest(topics=None))


async def test_a_directory_with_partitions_is_not_given_to_a_controller(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as broker:
        client = await broker.connect()
        await client.produce(await client.create_topic(), batch(b"one"))
        await client.close()
    with pytest.raises(StartFailed, match=r"holds logs of 1 partitions .*process\.roles is controller"):
        async with running_broker(tmp_path, CONTROLLER):
            pass
