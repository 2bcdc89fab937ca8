"""Mirrors and controllers of Apache Kafka, which do not keep them."""

from pathlib import Path

import msgspec

from penstock.client import mirrors
from penstock.cluster.metadata.mirrors import MIRROR
from penstock.cluster.metadata.state import RegisteredController
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import add_raft_voter, incremental_alter_configs
from tests.server.live import Client, Live, running_broker

KAFKA: dict[str, tuple[int, int]] = {"metadata.version": (7, 30)}


def make_voter_kafka(live: Live) -> None:
    """As if the registration of this voter were that of a controller of Kafka."""
    image = live.services.controller.image
    image.brokers[1] = msgspec.structs.replace(image.brokers[1], features=KAFKA)


async def create(client: Client, name: str) -> incremental_alter_configs.AlterConfigsResourceResponse:
    configs = [
        incremental_alter_configs.AlterableConfig(name=key, value=value)
        for key, value in ((mirrors.SERVERS, "127.0.0.1:1"), (mirrors.TOPICS, "orders"))
    ]
    resource = incremental_alter_configs.AlterConfigsResource(
        resource_type=MIRROR, resource_name=name, configs=configs
    )
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
    response: incremental_alter_configs.IncrementalAlterConfigsResponse = await client.send(request)
    return response.responses[0]


async def test_no_mirror_is_created_while_a_controller_is_kafkas(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        make_voter_kafka(live)
        client = await live.connect()
        answer = await create(client, "west")
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert answer.error_message is not None
        assert "while nodes of Apache Kafka are controllers (1)" in answer.error_message
        assert live.services.controller.image.mirror("west") is None
        await client.close()


async def test_a_node_of_kafka_gets_no_vote_while_there_are_mirrors(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect_as_broker()
        assert not (await create(client, "west")).error_code
        live.services.controller.image.controllers[7] = RegisteredController(
            controller_id=7, incarnation_id=bytes(16), endpoints=(), features=KAFKA
        )
        request = add_raft_voter.AddRaftVoterRequest(
            cluster_id=live.services.cluster_id, timeout_ms=1000, voter_id=7, voter_directory_id=bytes(16)
        )
        answer = await client.send(request)
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert answer.error_message == (
            "The cluster has mirrors, which controllers of Apache Kafka do not keep: delete them first"
        )
        await client.close()
