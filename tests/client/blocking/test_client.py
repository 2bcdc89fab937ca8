"""Leaders and coordinators are found, and transient errors retried: against served answers, then a real broker."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.client.blocking.client import (
    EARLIEST,
    GROUP,
    LATEST,
    BlockingClient,
    Leader,
    shared_client,
)
from penstock.client.errors import BrokerError, TimedOut
from penstock.client.metadata import TopicPartition
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode
from penstock.protocol.headers import RequestHeader
from penstock.protocol.messages import api_versions, find_coordinator, list_offsets, metadata, offset_fetch
from tests.client.blocking.clock import TestClock
from tests.client.blocking.serving import ALL_VERSIONS, serving
from tests.support.broker import BrokerProcess

WHERE = TopicPartition("events", 0)


class TwoBrokers:
    """Two served brokers that agree on the leader; `hung_up` and `answers` define their errors."""

    def __init__(self) -> None:
        self.addresses: dict[int, tuple[str, int]] = {}
        self.leader_id = 1
        self.coordinator_id = 1
        self.topic_error = 0
        self.hangs_up: set[int] = set()
        self.codes: list[int] = []  # of the next answers, in order; then 0
        self.asked: list[tuple[int, int]] = []  # which broker, which API

    def answer(self, node_id: int, header: RequestHeader, body: Any) -> Any:
        if node_id in self.hangs_up:
            return None
        if header.api_key == api_versions.API_KEY:
            return ALL_VERSIONS
        self.asked.append((node_id, header.api_key))
        if header.api_key == metadata.API_KEY:
            return self.metadata()
        if header.api_key == find_coordinator.API_KEY:
            host, port = self.addresses[self.coordinator_id]
            return find_coordinator.FindCoordinatorResponse(node_id=self.coordinator_id, host=host, port=port)
        code = self.codes.pop(0) if self.codes else 0
        if header.api_key == list_offsets.API_KEY:
            partition = list_offsets.ListOffsetsPartitionResponse(error_code=code, offset=40 + node_id)
            return list_offsets.ListOffsetsResponse(
                topics=[list_offsets.ListOffsetsTopicResponse(name="events", partitions=[partition])]
            )
        group = offset_fetch.OffsetFetchResponseGroup(group_id="g", error_code=code)
        return offset_fetch.OffsetFetchResponse(groups=[group])

    def metadata(self) -> metadata.MetadataResponse:
        partition = metadata.MetadataResponsePartition(partition_index=0, leader_id=self.leader_id)
        topic = metadata.MetadataResponseTopic(
            name="events", error_code=self.topic_error, partitions=[] if self.topic_error else [partition]
        )
        brokers = [
            metadata.MetadataResponseBroker(node_id=node_id, host=host, port=port)
            for node_id, (host, port) in self.addresses.items()
        ]
        return metadata.MetadataResponse(brokers=brokers, topics=[topic])


@pytest.fixture
def brokers() -> Iterator[TwoBrokers]:
    both = TwoBrokers()
    with contextlib.ExitStack() as stack:
        for node_id in (1, 2):
            both.addresses[node_id] = stack.enter_context(
                serving(lambda header, body, node_id=node_id: both.answer(node_id, header, body))  # type: ignore[misc]  # a default binds the loop's value
            )
        yield both


def cluster_of(brokers: TwoBrokers, clock: TestClock | None = None) -> BlockingClient:
    settings = ClientSettings(bootstrap_servers=tuple(brokers.addresses.values()), deadline_ms=5_000)
    return BlockingClient(settings, clock=clock or TestClock())


def latest(cluster: BlockingClient) -> int:
    return cluster.list_offsets({WHERE: LATEST})[WHERE].offset


def test_a_leader_that_moved_is_found_again(brokers: TwoBrokers) -> None:
    cluster = cluster_of(brokers)
    assert latest(cluster) == 41
    brokers.leader_id = 2
    brokers.codes = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert latest(cluster) == 42
    assert brokers.asked[-3:] == [(1, list_offsets.API_KEY), (1, metadata.API_KEY), (2, list_offsets.API_KEY)]


def test_a_leader_that_died_is_replaced_by_the_next_one(brokers: TwoBrokers) -> None:
    cluster = cluster_of(brokers)
    assert latest(cluster) == 41
    brokers.hangs_up = {1}
    brokers.leader_id = 2
    assert latest(cluster) == 42


def test_waiting_for_a_leader_ends_at_the_deadline_with_the_reason(brokers: TwoBrokers) -> None:
    clock = TestClock()
    brokers.leader_id = -1
    with pytest.raises(TimedOut, match="events-0 has no leader"):
        latest(cluster_of(brokers, clock))
    assert 3_000 < clock.now_ms < 5_000


def test_the_error_of_an_unreachable_cluster_names_its_addresses(brokers: TwoBrokers) -> None:
    brokers.hangs_up = {1, 2}
    with pytest.raises(TimedOut, match=rf"{brokers.addresses[1][1]}.*bootstrap.servers"):
        cluster_of(brokers).topics(["events"])


def test_permanent_errors_are_raised_at_once(brokers: TwoBrokers) -> None:
    clock = TestClock()
    brokers.codes = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(BrokerError, match="offsets of events-0 was answered with TOPIC_AUTHORIZATION_FAILED"):
        latest(cluster_of(brokers, clock))
    brokers.topic_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="topic 'events'"):
        latest(cluster_of(brokers, clock))
    assert clock.slept_ms == []


def test_a_topic_that_does_not_exist_is_absent(brokers: TwoBrokers) -> None:
    brokers.topic_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert cluster_of(brokers).topics(["events"]) == {}


def ask_coordinator(cluster: BlockingClient) -> Any:
    request = offset_fetch.OffsetFetchRequest(groups=[offset_fetch.OffsetFetchRequestGroup(group_id="g")])
    return cluster.call_coordinator(
        GROUP, "g", offset_fetch.API_KEY, lambda _: request, lambda answer: int(answer.groups[0].error_code)
    )


def test_a_coordinator_that_moved_or_died_is_found_again(brokers: TwoBrokers) -> None:
    cluster = cluster_of(brokers)
    ask_coordinator(cluster)
    brokers.coordinator_id = 2
    brokers.codes = [ErrorCode.NOT_COORDINATOR]
    ask_coordinator(cluster)
    assert brokers.asked[-1] == (2, offset_fetch.API_KEY)
    brokers.coordinator_id = 1
    brokers.hangs_up = {2}
    ask_coordinator(cluster)
    assert brokers.asked[-1] == (1, offset_fetch.API_KEY)


def test_a_loading_coordinator_is_retried_without_a_new_lookup(brokers: TwoBrokers) -> None:
    cluster = cluster_of(brokers)
    brokers.codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3
    ask_coordinator(cluster)
    assert [api for _, api in brokers.asked].count(find_coordinator.API_KEY) == 1


def test_a_request_to_a_leader_is_built_for_its_version_and_epoch(brokers: TwoBrokers) -> None:
    seen: list[tuple[int, Leader]] = []

    def request_for(version: int, leader: Leader) -> list_offsets.ListOffsetsRequest:
        seen.append((version, leader))
        return list_offsets.ListOffsetsRequest()

    cluster_of(brokers).call_leader(WHERE, list_offsets.API_KEY, request_for)
    [(version, leader)] = seen
    assert version == list_offsets.VERSIONS[-1]
    assert (leader.node_id, leader.address) == (1, brokers.addresses[1])


def test_one_process_shares_one_cluster_for_the_same_settings() -> None:
    settings = ClientSettings(bootstrap_servers=(("nowhere", 1),))
    assert shared_client(settings) is shared_client(ClientSettings(bootstrap_servers=(("nowhere", 1),)))
    assert shared_client(settings) is not shared_client(ClientSettings(bootstrap_servers=(("else", 1),)))


def test_requests_to_a_real_broker_survive_its_restart(own_broker: BrokerProcess) -> None:
    cluster = BlockingClient(ClientSettings.from_properties({"bootstrap.servers": own_broker.bootstrap}))
    assert cluster.create_topic("events", partitions=2, configs={"retention.ms": "100000"})
    assert not cluster.create_topic("events", partitions=2)
    with pytest.raises(BrokerError, match="INVALID_PARTITIONS"):
        cluster.create_topic("other", partitions=0)
    assert set(cluster.topics(["events", "missing"])["events"].partitions) == {0, 1}
    assert "missing" not in cluster.topics()
    wanted = {TopicPartition("events", 0): EARLIEST, TopicPartition("events", 1): 1_000}
    before = {where: found.offset for where, found in cluster.list_offsets(wanted).items()}
    assert before == {TopicPartition("events", 0): 0, TopicPartition("events", 1): -1}
    own_broker.restart()
    assert {where: found.offset for where, found in cluster.list_offsets(wanted).items()} == before
    host, port = cluster.coordinator(GROUP, "some group")
    assert f"{host}:{port}" == own_broker.bootstrap
    cluster.close()
