"""What a node asks the members that it was given, played by a connection without a socket."""

import asyncio
from collections.abc import Sequence
from typing import Any, cast

import pytest

from penstock.client.connection import Connection
from penstock.client.core.handshake import BrokerInfo
from penstock.cluster.joining import (
    FoundCluster,
    JoinFailed,
    JoinRefused,
    Members,
    check_features,
    check_node_id,
    find_cluster,
)
from penstock.config.listeners import Endpoint
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from penstock.security.dialer import NotAMember

KAFKA = Members([("one", 9093), ("two", 9093)], "CONTROLLER", are_controllers=True)


class Controller:
    """Answers DescribeCluster; its features are those of its handshake."""

    def __init__(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self.info = BrokerInfo(address="one:9093", features={"metadata.version": 30})
        self.asked: list[Any] = []
        self._error = error

    async def call(self, _key: int, _version: int, request: Any) -> DescribeClusterResponse:
        self.asked.append(request)
        return DescribeClusterResponse(
            error_code=self._error, cluster_id="kafka", brokers=[DescribeClusterBroker(broker_id=1)]
        )

    async def close(self) -> None: ...


def find(members: Members, *answers: Controller | Exception) -> tuple[FoundCluster, Sequence[Endpoint]]:
    """The result, and the endpoints that were dialed; the members answer in turn."""
    dialed: list[Endpoint] = []

    async def dial(endpoint: Endpoint) -> Connection:
        dialed.append(endpoint)
        answer = answers[len(dialed) - 1]
        if isinstance(answer, Exception):
            raise answer
        return cast("Connection", answer)

    return asyncio.run(find_cluster(members, dial)), dialed


def test_a_controller_tells_the_cluster_id_the_feature_levels_and_the_ids_of_controllers() -> None:
    controller = Controller()
    found, dialed = find(KAFKA, controller)
    assert found == FoundCluster(cluster_id="kafka", features={"metadata.version": 30}, controller_ids=[1])
    assert controller.asked[0].endpoint_type == 2
    assert [(each.name, each.host) for each in dialed] == [("CONTROLLER", "one")]


def test_a_broker_tells_the_cluster_id() -> None:
    broker = Controller()
    found, _ = find(Members([("one", 9092)], "PLAINTEXT"), broker)
    assert found == FoundCluster(cluster_id="kafka")
    assert broker.asked[0].endpoint_type == 1


def test_the_next_member_is_asked_when_one_is_down() -> None:
    found, dialed = find(KAFKA, ConnectionRefusedError("refused"), Controller())
    assert found.cluster_id == "kafka"
    assert [each.host for each in dialed] == ["one", "two"]


def test_all_members_that_are_down_are_named_with_the_setting() -> None:
    with pytest.raises(JoinFailed, match=r"one:9093: gone; two:9093: gone.*bootstrap\.servers"):
        find(KAFKA, ConnectionError("gone"), ConnectionError("gone"))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ErrorCode.MISMATCHED_ENDPOINT_TYPE, "it is a listener of brokers"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "may not ask for the cluster id"),
        (ErrorCode.UNSUPPORTED_VERSION, "it answers UNSUPPORTED_VERSION"),
    ],
)
def test_the_refusal_of_a_controller_is_explained(error: ErrorCode, reason: str) -> None:
    with pytest.raises(JoinRefused, match=reason):
        find(KAFKA, Controller(error))


def test_a_broker_of_kafka_given_as_a_member_is_explained() -> None:
    with pytest.raises(JoinRefused, match=r"name them in controller\.quorum\.bootstrap\.servers"):
        find(Members([("one", 9092)], "PLAINTEXT"), NotAMember("is not Penstock"))


def test_a_feature_level_that_is_too_new_is_refused() -> None:
    check_features(FoundCluster(cluster_id="a", features={"metadata.version": 30, "share.version": 1}))
    check_features(FoundCluster(cluster_id="a", features={"from.the.future": 0}))
    with pytest.raises(
        JoinRefused, match=r"it has metadata\.version at level 31, and this version .* 25 to 30"
    ):
        check_features(FoundCluster(cluster_id="a", features={"metadata.version": 31}))
    with pytest.raises(JoinRefused, match=r"from\.the\.future at level 1"):
        check_features(FoundCluster(cluster_id="a", features={"from.the.future": 1}))


def test_the_id_of_a_controller_is_refused() -> None:
    found = FoundCluster(cluster_id="a", controller_ids=[1, 2])
    check_node_id(found, 3)
    with pytest.raises(JoinRefused, match="its controller 2 has the id of this node"):
        check_node_id(found, 2)
