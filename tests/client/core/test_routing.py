"""Routing without I/O: the test performs the steps of an operation itself."""

from typing import Any

import pytest

from penstock.client.core.destinations import ANY, CONTROLLER, CoordinatorOf, LeaderOf
from penstock.client.core.routing import Router
from penstock.client.core.steps import Operation, Send, SendAll, Sleep
from penstock.client.errors import BrokerError, Disconnected, Retry, UnknownPartition, Unreachable
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import api_versions, find_coordinator, metadata

ONE, TWO = ("one", 1), ("two", 2)
SETTINGS = ClientSettings(bootstrap_servers=(ONE, TWO))
REQUEST = api_versions.ApiVersionsRequest()


class Cluster:
    """Answers requests: `leader` and `topics` are its metadata, `unreachable` the brokers that are down."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.leader = 1
        self.has_topic = True
        self.unreachable: set[tuple[str, int]] = set()
        self.codes: list[int] = []  # of the next ApiVersions responses
        self.sent: list[tuple[tuple[str, int], str]] = []

    def run(self, operation: Operation[Any]) -> Any:
        result: Any = None
        failure: Exception | None = None
        try:
            while True:
                step = operation.send(result) if failure is None else operation.throw(failure)
                result, failure = None, None
                assert not isinstance(step, SendAll)
                if isinstance(step, Sleep):
                    self.now_ms += step.delay_ms
                elif step.address in self.unreachable:
                    failure = Unreachable(f"no connection to {step.address}")
                else:
                    result = self.answer(step)
        except StopIteration as done:
            return done.value

    def answer(self, step: Send) -> Any:
        message = step.message_for(0)
        self.sent.append((step.address, type(message).__name__))
        if isinstance(message, metadata.MetadataRequest):
            return self.metadata()
        if isinstance(message, find_coordinator.FindCoordinatorRequest):
            return find_coordinator.FindCoordinatorResponse(host="two", port=2)
        return api_versions.ApiVersionsResponse(error_code=self.codes.pop(0) if self.codes else 0)

    def metadata(self) -> metadata.MetadataResponse:
        brokers = [
            metadata.MetadataResponseBroker(node_id=node, host=host, port=node)
            for node, host in ((1, "one"), (2, "two"))
        ]
        partition = metadata.MetadataResponsePartition(partition_index=0, leader_id=self.leader)
        topic = metadata.MetadataResponseTopic(name="events", partitions=[partition])
        return metadata.MetadataResponse(
            brokers=brokers, controller_id=2, topics=[topic] if self.has_topic else []
        )

    @property
    def asked(self) -> list[tuple[str, int]]:
        return [address for address, name in self.sent if name == "ApiVersionsRequest"]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def router(cluster: Cluster, *, waits_for_topics: bool = False) -> Router:
    return Router(SETTINGS, lambda: cluster.now_ms, waits_for_topics=waits_for_topics)


@pytest.mark.parametrize(
    ("to", "address"),
    [
        (ANY, ONE),
        (CONTROLLER, TWO),
        (2, TWO),
        (LeaderOf("events", 0), ONE),
        (CoordinatorOf(0, "group"), TWO),
    ],
)
def test_a_request_goes_to_the_broker_behind_its_destination(
    cluster: Cluster, to: Any, address: tuple[str, int]
) -> None:
    cluster.run(router(cluster).request(to, REQUEST))
    assert cluster.asked == [address]


def test_any_broker_is_the_first_that_can_be_reached(cluster: Cluster) -> None:
    cluster.unreachable = {ONE}
    cluster.run(router(cluster).request(ANY, REQUEST))
    assert cluster.asked == [TWO]
    cluster.unreachable = {ONE, TWO}
    with pytest.raises(Disconnected, match=r"one.*two.*bootstrap.servers"):
        cluster.run(router(cluster).request_once(ANY, REQUEST))


def test_a_leader_that_has_moved_is_looked_up_again(cluster: Cluster) -> None:
    routes = router(cluster)
    cluster.run(routes.request(LeaderOf("events", 0), REQUEST))
    cluster.leader, cluster.codes = 2, [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    cluster.run(routes.request(LeaderOf("events", 0), REQUEST))
    assert cluster.asked == [ONE, ONE, TWO]


def test_a_loading_coordinator_is_retried_without_a_lookup(cluster: Cluster) -> None:
    cluster.codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]
    cluster.run(router(cluster).request(CoordinatorOf(0, "group"), REQUEST))
    names = [name for _, name in cluster.sent if name == "FindCoordinatorRequest"]
    assert (len(cluster.asked), len(names)) == (3, 2)


def test_an_error_that_is_not_retriable_is_raised_at_once(cluster: Cluster) -> None:
    cluster.codes = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    with pytest.raises(BrokerError, match="CLUSTER_AUTHORIZATION_FAILED"):
        cluster.run(router(cluster).request(ANY, REQUEST))
    assert cluster.now_ms == 0


def test_a_missing_topic_is_an_error_unless_the_client_waits_for_topics(cluster: Cluster) -> None:
    cluster.has_topic = False
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        cluster.run(router(cluster).leader(TopicPartition("events", 0)))
    with pytest.raises(UnknownPartition, match="events-0 does not exist"):
        cluster.run(router(cluster, waits_for_topics=True).leader(TopicPartition("events", 0)))


def test_a_partition_without_a_leader_is_retried(cluster: Cluster) -> None:
    cluster.leader = -1
    with pytest.raises(Retry, match="events-0 has no leader"):
        cluster.run(router(cluster).leader(TopicPartition("events", 0)))


def test_metadata_is_refreshed_after_a_minute(cluster: Cluster) -> None:
    routes = router(cluster)
    for now_ms in (0.0, 59_000.0, 61_000.0):
        cluster.now_ms = now_ms
        cluster.run(routes.topic("events"))
    assert [name for _, name in cluster.sent] == ["MetadataRequest"] * 2
