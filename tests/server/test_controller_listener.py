"""A listener of controllers: what is served there, and how this node is found through it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.client.connection import Connection
from penstock.client.settings import SaslSettings
from penstock.cluster.metadata.state import REGISTERED_FEATURES
from penstock.config.listeners import Endpoint
from penstock.protocol.apis import APIS
from penstock.protocol.errors import ErrorCode
from penstock.protocol.headers import decode_response_header
from penstock.protocol.messages import (
    add_raft_voter,
    api_versions,
    assign_replicas_to_dirs,
    controller_registration,
    describe_cluster,
    list_partition_reassignments,
    metadata,
)
from penstock.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.security.principal import ANONYMOUS, encode_principal
from penstock.server.handlers import CONTROLLER_APIS, HANDLERS
from tests.server.live import Client, Live, code, held, one, running_broker, until
from tests.server.raw import frame_of

_SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "",
}
DIRECTORY = bytes([9] * 16)


class Place:
    """A broker with a listener of controllers, and connections to it."""

    def __init__(self, live: Live, runner: asyncio.Runner) -> None:
        self.live = live
        self.runner = runner
        self.listeners = {each.name: each for each in live.broker.endpoints}

    async def connect(self, listener: str, *, as_broker: bool = False) -> Client:
        at = self.listeners[listener]
        if as_broker:
            return Client(await self.live.broker.parts.dialer.open(at))
        return Client(await Connection.open(at.host, at.port, client_id="test"))


@pytest.fixture(scope="module")
def place(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("controller-listener")
    settings = {**_SETTINGS, "log.dirs": str(directory)}
    with held(runner, running_broker(directory, settings)) as live:
        yield Place(live, runner)


async def test_the_listener_lists_the_apis_of_controllers_and_no_others(place: Place) -> None:
    request = api_versions.ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
    controllers = await place.connect("CONTROLLER")
    listed = {each.api_key for each in (await controllers.send(request)).api_keys}
    assert listed == CONTROLLER_APIS
    assert {key for key, each in HANDLERS.items() if each.is_internal} <= listed
    brokers = await place.connect("PLAINTEXT")
    listed = {each.api_key for each in (await brokers.send(request)).api_keys}
    assert not listed & {key for key, each in HANDLERS.items() if each.is_internal}
    await controllers.close()
    await brokers.close()


async def test_an_api_of_brokers_closes_its_connection_to_the_listener(place: Place) -> None:
    client = await place.connect("CONTROLLER")
    with pytest.raises(ConnectionError):
        await client.send(metadata.MetadataRequest(topics=None))
    await client.close()


async def test_clients_may_not_act_as_brokers_on_the_listener(place: Place) -> None:
    client = await place.connect("CONTROLLER")
    refused = await client.send(assign_replicas_to_dirs.AssignReplicasToDirsRequest(broker_id=1))
    assert code(refused.error_code) == "CLUSTER_AUTHORIZATION_FAILED"
    await client.close()


async def test_the_voter_is_reached_at_the_listener_of_controllers_and_the_broker_is_not(
    place: Place,
) -> None:
    services, at = place.live.services, place.listeners["CONTROLLER"]
    voter = services.quorum.driver.node.voters.get(1)
    assert voter is not None
    assert [(each.name, each.host, each.port) for each in voter.endpoints] == [(at.name, at.host, at.port)]
    assert [each.name for each in services.controller.image.brokers[1].endpoints] == ["PLAINTEXT"]


async def test_the_node_registers_as_a_controller(place: Place) -> None:
    image = place.live.services.controller.image
    await until(lambda: 1 in image.controllers)
    assert image.controllers[1].endpoints == (place.listeners["CONTROLLER"],)
    assert image.controllers[1].features == REGISTERED_FEATURES


@pytest.mark.parametrize("listener", ["CONTROLLER", "PLAINTEXT"])
async def test_controllers_are_described_at_their_address_on_the_listener_of_the_request(
    place: Place, listener: str
) -> None:
    client, at = await place.connect(listener), place.listeners[listener]
    response = await client.send(describe_cluster.DescribeClusterRequest(endpoint_type=2))
    controller = one(response.brokers)
    assert (controller.broker_id, controller.host, controller.port) == (1, at.host, at.port)
    await client.close()


def registration(protocol: int) -> controller_registration.ControllerRegistrationRequest:
    return controller_registration.ControllerRegistrationRequest(
        controller_id=9,
        incarnation_id=bytes([1] * 16),
        listeners=[
            controller_registration.Listener(
                name="CONTROLLER", host="c9", port=9093, security_protocol=protocol
            )
        ],
        features=[
            controller_registration.Feature(
                name="metadata.version", min_supported_version=7, max_supported_version=30
            )
        ],
    )


async def test_another_controller_registers_and_can_then_be_made_a_voter_at_its_address_only(
    place: Place,
) -> None:
    other = await place.connect("CONTROLLER", as_broker=True)
    assert (await other.send(registration(0))).error_code == 0
    known = place.live.services.controller.image.controllers[9]
    assert known.endpoints == (
        Endpoint(name="CONTROLLER", host="c9", port=9093, security_protocol="PLAINTEXT"),
    )
    client = await place.connect("CONTROLLER")

    async def add(host: str) -> Any:
        listener = add_raft_voter.Listener(name="CONTROLLER", host=host, port=9093)
        return await client.send(
            add_raft_voter.AddRaftVoterRequest(
                cluster_id="another-cluster",
                voter_id=9,
                voter_directory_id=DIRECTORY,
                listeners=[listener],
                timeout_ms=10,
            )
        )

    assert code((await add("attacker")).error_code) == "INVALID_REQUEST"
    assert code((await add("c9")).error_code) == "INCONSISTENT_CLUSTER_ID"  # it got as far as the quorum
    await client.close()
    await other.close()


async def test_a_controller_with_an_unknown_security_protocol_is_refused(place: Place) -> None:
    other = await place.connect("CONTROLLER", as_broker=True)
    refused = await other.send(registration(9))
    assert code(refused.error_code) == "INVALID_REQUEST"
    assert "security protocol" in refused.error_message
    await other.close()


async def test_a_broker_reports_the_directories_of_its_replicas(place: Place) -> None:
    client, other = await place.connect("PLAINTEXT"), await place.connect("CONTROLLER", as_broker=True)
    topic = await client.create_topic()
    image = place.live.services.controller.image
    directory, epoch = image.brokers[1].log_dirs[0], image.brokers[1].epoch

    def request(broker_epoch: int) -> assign_replicas_to_dirs.AssignReplicasToDirsRequest:
        partitions = [assign_replicas_to_dirs.RequestPartitionData(partition_index=each) for each in (0, 7)]
        topics = [assign_replicas_to_dirs.RequestTopicData(topic_id=topic.id, partitions=partitions)]
        return assign_replicas_to_dirs.AssignReplicasToDirsRequest(
            broker_id=1,
            broker_epoch=broker_epoch,
            directories=[assign_replicas_to_dirs.RequestDirectoryData(id=directory, topics=topics)],
        )

    answer = await other.send(request(epoch))
    found = one(one(answer.directories).topics)
    assert [ErrorCode(each.error_code).name for each in found.partitions] == [
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    assert code((await other.send(request(epoch + 1))).error_code) == "STALE_BROKER_EPOCH"
    await client.close()
    await other.close()


async def test_brokers_of_kafka_may_forward_a_request_for_the_reassignments_in_progress(place: Place) -> None:
    other = await place.connect("CONTROLLER", as_broker=True)
    request = list_partition_reassignments.ListPartitionReassignmentsRequest(topics=None)
    opened: EnvelopeResponse = await other.send(
        EnvelopeRequest(
            request_data=frame_of(request, 0, correlation_id=5)[4:],
            request_principal=encode_principal(ANONYMOUS),
            client_host_address=b"\x7f\x00\x00\x01",
        )
    )
    assert opened.error_code == 0
    data = bytes(opened.response_data or b"")
    correlation_id, position = decode_response_header(data, 46, 0)
    answer = list_partition_reassignments.decode_response(data, 0, position)
    assert (correlation_id, answer.error_code, answer.topics) == (5, 0, [])
    await other.close()


def test_every_api_of_controllers_is_known() -> None:
    assert APIS.keys() >= CONTROLLER_APIS


_LOGIN = (
    'org.apache.kafka.common.security.scram.ScramLoginModule required username="{}" password="{}-secret";'
)
_SASL_SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "listener.name.controller.sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN",
    "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
    "listener.name.controller.scram-sha-256.sasl.jaas.config": _LOGIN.format("node", "node"),
    "listener.name.controller.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_alice="alice-secret" user_node="node-secret";'
    ),
}


@pytest.mark.parametrize(("user", "is_node"), [("node", True), ("alice", False)])
async def test_on_a_listener_with_logins_a_node_is_who_logs_in_as_this_one_does(
    tmp_path: Path, user: str, is_node: bool
) -> None:
    async with running_broker(tmp_path, {**_SASL_SETTINGS, "log.dirs": str(tmp_path)}) as live:
        at = next(each for each in live.broker.endpoints if each.name == "CONTROLLER")
        login = SaslSettings(mechanism="PLAIN", username=user, password=f"{user}-secret")
        client = Client(await Connection.open(at.host, at.port, client_id="test", sasl=login))
        answer = await client.send(assign_replicas_to_dirs.AssignReplicasToDirsRequest(broker_id=77))
        expected = "STALE_BROKER_EPOCH" if is_node else "CLUSTER_AUTHORIZATION_FAILED"
        assert code(answer.error_code) == expected
        await client.close()


async def test_a_node_logs_in_to_a_listener_of_controllers_before_any_user_exists(tmp_path: Path) -> None:
    async with running_broker(tmp_path, {**_SASL_SETTINGS, "log.dirs": str(tmp_path)}) as live:
        at = next(each for each in live.broker.endpoints if each.name == "CONTROLLER")
        other = Client(await live.broker.parts.dialer.open(at))
        assert (await other.send(registration(0))).error_code == 0
        await other.close()
