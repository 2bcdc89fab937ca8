"""A client that is no broker sends brokers' requests, to one node and to a cluster of three, with and without
logins: it is refused, logged once, and leaves nothing behind.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.cli.cluster.state import QuorumState, read_quorum
from penstock.cli.connect.requests import RequestClient
from penstock.client.connection import Connection
from penstock.client.settings import SaslSettings
from penstock.cluster.metadata.topic_names import METADATA_TOPIC_ID
from penstock.protocol import apis
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import (
    alter_user_scram_credentials,
    begin_quorum_epoch,
    broker_registration,
    envelope,
    fetch,
    fetch_snapshot,
    vote,
)
from penstock.security.principal import Principal, encode_principal
from tests.server.raw import frame_of
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

pytestmark = pytest.mark.timeout(180)

SASL = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.jaas.config": 'PlainLoginModule required username="broker" password="b" user_broker="b" user_eve="e";',
}
CLIENT = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", "sasl.username=eve", "sasl.password=e"]
METADATA, EPOCH_MAX = "__cluster_metadata", 2**31 - 1


class Target:
    def __init__(self, cluster: ClusterProcesses, *, has_logins: bool) -> None:
        self.cluster = cluster
        self._login = SaslSettings(mechanism="PLAIN", username="eve", password="e") if has_logins else None
        self._client = CLIENT if has_logins else []

    async def ask_each(self, request: Any, version: int | None = None) -> list[Any]:
        """Send to every node twice; returns all answers."""
        answers = []
        for node in self.cluster.nodes.values():
            connection = await Connection.open("127.0.0.1", node.port, sasl=self._login)
            spec = next(
                each for each in apis.APIS.values() if type(request).__module__.endswith(f".{each.module}")
            )
            for _ in range(2):
                used = spec.versions[-1] if version is None else version
                answers.append(await connection.call(spec.key, used, request))
            connection.abort()
        return answers

    def quorum(self) -> QuorumState:
        with RequestClient(self.cluster.bootstrap, self._client) as client:
            return read_quorum(client)

    def lines_about(self, api: str) -> list[str]:
        return [
            line
            for node in self.cluster.nodes.values()
            for line in node.log_path.read_text().splitlines()
            if f"Refused a request for brokers only: the client sent {api}" in line
        ]


@pytest.fixture(
    scope="module",
    params=[(1, False), (3, False), (1, True), (3, True)],
    ids=["one", "three", "one-sasl", "three-sasl"],
)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    count, has_logins = request.param
    directory = tmp_path_factory.mktemp("strangers")
    with running_cluster(directory, count, SASL if has_logins else {}) as cluster:
        yield Target(cluster, has_logins=has_logins)


def _quorum_states(target: Target) -> list[bytes]:
    return [
        (node.data_dir / f"{METADATA}-0" / "quorum-state").read_bytes()
        for node in target.cluster.nodes.values()
    ]


def check_refused(target: Target, request: Any, version: int | None = None) -> list[Any]:
    """The request had no effect: the quorum's state and its leader are unchanged."""
    states, before = _quorum_states(target), target.quorum()
    answers = asyncio.run(target.ask_each(request, version))
    assert {ErrorCode(each.error_code) for each in answers} == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    after = target.quorum()
    assert _quorum_states(target) == states
    assert (after.leader, after.epoch) == (before.leader, before.epoch)
    name = type(request).__name__.removesuffix("Request")
    assert len(target.lines_about(name)) == len(target.cluster.nodes)
    return answers


def test_an_unauthenticated_vote_is_refused(target: Target) -> None:
    partition = vote.RequestPartitionData(replica_id=666, replica_epoch=EPOCH_MAX)
    topics = [vote.RequestTopicData(topic_name=METADATA, partitions=[partition])]
    check_refused(target, vote.VoteRequest(cluster_id=None, topics=topics))


def test_a_leader_named_by_an_unauthenticated_peer_is_not_followed(target: Target) -> None:
    partition = begin_quorum_epoch.RequestPartitionData(leader_id=666, leader_epoch=EPOCH_MAX - 1)
    topics = [begin_quorum_epoch.RequestTopicData(topic_name=METADATA, partitions=[partition])]
    endpoint = begin_quorum_epoch.LeaderEndpoint(name="PLAINTEXT", host="127.0.0.1", port=1)
    check_refused(
        target, begin_quorum_epoch.BeginQuorumEpochRequest(topics=topics, leader_endpoints=[endpoint])
    )


def test_an_unauthenticated_peer_cannot_read_the_metadata_log_and_its_snapshots(target: Target) -> None:
    wanted = fetch.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [fetch.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[wanted])]
    answers = check_refused(target, fetch.FetchRequest(topics=topics, max_bytes=1 << 20))
    assert [each.responses for each in answers] == [[]] * len(answers)
    snapshot = fetch_snapshot.RequestTopicSnapshot(
        name=METADATA, partitions=[fetch_snapshot.RequestPartitionSnapshot()]
    )
    check_refused(target, fetch_snapshot.FetchSnapshotRequest(topics=[snapshot], max_bytes=1 << 20))


def test_an_unauthenticated_peer_cannot_impersonate_other_clients(target: Target) -> None:
    change = alter_user_scram_credentials.ScramCredentialUpsertion(
        name="admin", mechanism=1, iterations=4096, salt=b"salt", salted_password=bytes(32)
    )
    inner = alter_user_scram_credentials.AlterUserScramCredentialsRequest(upsertions=[change])
    forged = envelope.EnvelopeRequest(
        request_data=frame_of(inner)[4:],
        request_principal=encode_principal(Principal("admin")),
        client_host_address=bytes([127, 0, 0, 1]),
    )
    answers = check_refused(target, forged)
    assert [each.response_data for each in answers] == [None] * len(answers)


def test_an_unauthenticated_peer_cannot_register_as_a_broker(target: Target) -> None:
    listener = broker_registration.Listener(name="PLAINTEXT", host="127.0.0.1", port=1)
    check_refused(
        target,
        broker_registration.BrokerRegistrationRequest(
            broker_id=666, cluster_id="any", incarnation_id=bytes(range(16)), listeners=[listener], rack=None
        ),
    )


def test_the_nodes_restart_after_these_requests(target: Target) -> None:
    """A stored vote would make them fail at the next election."""
    before = target.quorum()
    for node in target.cluster.nodes.values():
        node.kill()
    for number, node in target.cluster.nodes.items():
        node.arguments = ["--node-id", str(number)]  # it is already a member of its cluster
        node.launch()
    for node in target.cluster.nodes.values():
        node.await_ready()
    eventually(lambda: target.quorum().leader > 0, "a leader")
    assert target.quorum().epoch < before.epoch + 100
