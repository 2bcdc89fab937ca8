"""Markers for partitions that others lead and coordinators that run elsewhere, over brokers that the test plays."""

import asyncio
from collections.abc import Collection
from typing import Any, cast

import msgspec
import pytest

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.peers import Peers
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from penstock.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from penstock.transactions.markers import Marker
from penstock.transactions.remote import ClusterMarkers, ClusterVerifier, Outcomes
from penstock.transactions.state import Producer, TopicPartition
from tests.cluster.support import image_of, with_topic

ME = 1
MARKER = Marker(producer_id=7, producer_epoch=2, is_commit=True, coordinator_epoch=5, transaction_version=2)
PRODUCER = Producer(7, 2)
A, B = TopicPartition("a", 0), TopicPartition("b", 1)


class PlayedPeers:
    """Every other broker gives the answer that the test sets, or fails."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[tuple[int, int, Any]] = []
        self.waits_for = ""
        self._to = -1

    def channel(self, broker_id: int, *, waits_for: str = "") -> "PlayedPeers":
        self._to, self.waits_for = broker_id, waits_for
        return self

    async def call(self, api_key: int, _version: int, request: Any) -> Any:
        self.asked.append((self._to, api_key, request))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Local:
    """This broker's own part: remembers what it was given."""

    def __init__(self) -> None:
        self.given: list[TopicPartition] = []

    async def send(self, marker: Marker, partitions: Collection[TopicPartition]) -> Outcomes:
        self.given += partitions
        return dict.fromkeys(partitions, ErrorCode.NONE)

    async def verify(self, _id: str, _producer: Producer, partitions: Collection[TopicPartition]) -> Outcomes:
        self.given += partitions
        return dict.fromkeys(partitions, ErrorCode.NONE)

    async def add_partitions(
        self, _id: str, _producer: Producer, partitions: Collection[TopicPartition]
    ) -> ErrorCode:
        self.given += partitions
        return ErrorCode.NONE


def led(*leaders: int) -> tuple[MetadataImage, list[TopicPartition]]:
    """One partition of a topic led by each of these brokers."""
    image = image_of(brokers=3)
    topic = image.topics_by_id[with_topic(image, "t", partitions=len(leaders))]
    for number, leader in enumerate(leaders):
        topic.partitions[number] = msgspec.structs.replace(topic.partitions[number], leader=leader)
    return image, [TopicPartition("t", number) for number in range(len(leaders))]


def written(codes: dict[int, ErrorCode]) -> WriteTxnMarkersResponse:
    results = [
        WritableTxnMarkerPartitionResult(partition_index=number, error_code=code)
        for number, code in codes.items()
    ]
    topic = WritableTxnMarkerTopicResult(name="t", partitions=results)
    return WriteTxnMarkersResponse(markers=[WritableTxnMarkerResult(producer_id=7, topics=[topic])])


def send(image: MetadataImage, local: Local, peers: PlayedPeers, targets: list[TopicPartition]) -> Outcomes:
    markers = ClusterMarkers(ME, image, local, cast("Peers", peers))
    return asyncio.run(markers.send(MARKER, targets))


def test_every_leader_gets_the_marker_for_its_partitions() -> None:
    image, targets = led(1, 2, 1, 2)
    local = Local()
    peers = PlayedPeers(written({1: ErrorCode.NONE, 3: ErrorCode.NOT_LEADER_OR_FOLLOWER}))
    outcomes = send(image, local, peers, targets)
    assert local.given == [targets[0], targets[2]]
    ((to, _, request),) = peers.asked
    assert to == 2
    assert peers.waits_for, "a marker waits for the in-sync replicas; nothing else is to wait behind it"
    assert isinstance(request, WriteTxnMarkersRequest)
    (marker,) = request.markers
    assert [(each.name, each.partition_indexes) for each in marker.topics] == [("t", [1, 3])]
    assert (marker.producer_id, marker.producer_epoch, marker.transaction_result) == (7, 2, True)
    assert (marker.coordinator_epoch, marker.transaction_version) == (5, 2)
    assert outcomes == {
        targets[0]: ErrorCode.NONE,
        targets[1]: ErrorCode.NONE,
        targets[2]: ErrorCode.NONE,
        targets[3]: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }


def test_a_partition_without_a_leader_is_tried_again() -> None:
    image, targets = led(-1)
    peers = PlayedPeers(None)
    assert send(image, Local(), peers, targets) == {targets[0]: ErrorCode.LEADER_NOT_AVAILABLE}
    assert peers.asked == []


def test_the_local_sender_handles_an_unknown_partition() -> None:
    local = Local()
    send(image_of(brokers=3), local, PlayedPeers(None), [A])
    assert local.given == [A]


@pytest.mark.parametrize("failure", [ConnectionResetError(), TimeoutError(), ProtocolError("?")])
def test_a_leader_that_does_not_answer_is_tried_again(failure: Exception) -> None:
    image, targets = led(1, 2)
    outcomes = send(image, Local(), PlayedPeers(failure), targets)
    assert outcomes == {targets[0]: ErrorCode.NONE, targets[1]: ErrorCode.NETWORK_EXCEPTION}


def test_a_partition_missing_from_the_response_has_no_marker_yet() -> None:
    image, targets = led(2, 2)
    outcomes = send(image, Local(), PlayedPeers(written({0: ErrorCode.NONE})), targets)
    assert outcomes == {targets[0]: ErrorCode.NONE, targets[1]: ErrorCode.UNKNOWN_SERVER_ERROR}


# --- coordinators elsewhere


def added(codes: dict[TopicPartition, ErrorCode]) -> AddPartitionsToTxnResponse:
    results = [
        AddPartitionsToTxnTopicResult(
            name=each.topic,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=each.partition, partition_error_code=code)
            ],
        )
        for each, code in codes.items()
    ]
    return AddPartitionsToTxnResponse(
        results_by_transaction=[AddPartitionsToTxnResult(transactional_id="x", topic_results=results)]
    )


def verifier(leader: int, local: Local, peers: PlayedPeers) -> ClusterVerifier:
    return ClusterVerifier(ME, lambda _id: leader, local, cast("Peers", peers))


def test_a_local_coordinator_is_called_without_a_connection() -> None:
    local, peers = Local(), PlayedPeers(None)
    found = verifier(ME, local, peers)
    asyncio.run(found.verify("x", PRODUCER, [A]))
    assert asyncio.run(found.add_partitions("x", PRODUCER, [B])) is ErrorCode.NONE
    assert (local.given, peers.asked) == ([A, B], [])


@pytest.mark.parametrize("verify_only", [True, False])
def test_a_remote_coordinator_gets_all_partitions_in_one_request(verify_only: bool) -> None:
    peers = PlayedPeers(added({A: ErrorCode.NONE, B: ErrorCode.TRANSACTION_ABORTABLE}))
    found = verifier(3, Local(), peers)
    if verify_only:
        outcomes = asyncio.run(found.verify("x", PRODUCER, [B, A]))
        assert outcomes == {A: ErrorCode.NONE, B: ErrorCode.TRANSACTION_ABORTABLE}
    else:
        code = asyncio.run(found.add_partitions("x", PRODUCER, [B, A]))
        assert code is ErrorCode.TRANSACTION_ABORTABLE
    ((to, _, request),) = peers.asked
    assert not peers.waits_for
    assert isinstance(request, AddPartitionsToTxnRequest)
    (transaction,) = request.transactions
    assert (to, transaction.transactional_id, transaction.verify_only) == (3, "x", verify_only)
    assert (transaction.producer_id, transaction.producer_epoch) == PRODUCER
    assert [(each.name, each.partitions) for each in transaction.topics] == [("a", [0]), ("b", [1])]


@pytest.mark.parametrize(
    ("leader", "answer", "expected"),
    [
        (-1, None, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (3, ConnectionResetError(), ErrorCode.NETWORK_EXCEPTION),
        (3, ProtocolError("?"), ErrorCode.NETWORK_EXCEPTION),
        (3, AddPartitionsToTxnResponse(error_code=ErrorCode.NOT_COORDINATOR), ErrorCode.NOT_COORDINATOR),
        (3, AddPartitionsToTxnResponse(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_without_a_clear_answer_no_partition_counts_as_part_of_the_transaction(
    leader: int, answer: object, expected: ErrorCode
) -> None:
    found = verifier(leader, Local(), PlayedPeers(answer))
    assert asyncio.run(found.verify("x", PRODUCER, [A, B])) == {A: expected, B: expected}
    assert asyncio.run(found.add_partitions("x", PRODUCER, [A])) is expected
