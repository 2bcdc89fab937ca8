"""Transactions in a cluster: markers for partitions of other leaders, and requests to other coordinators.

Both use their local counterparts for partitions and transactional ids of this broker.
"""

import asyncio
from collections.abc import Callable, Collection

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.peers import Peers
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import add_partitions_to_txn as add_api
from penstock.protocol.messages import write_txn_markers as markers_api
from penstock.transactions.admission import Verifier
from penstock.transactions.markers import Marker, MarkerSender
from penstock.transactions.state import Producer, TopicPartition, by_topic

_ADD_PARTITIONS, _ADD_PARTITIONS_VERSION = 24, 5
_WRITE_MARKERS, _WRITE_MARKERS_VERSION = 27, 2
_NO_LEADER = -1

Outcomes = dict[TopicPartition, ErrorCode]


class ClusterMarkers:
    """A `MarkerSender` for partitions of all leaders."""

    def __init__(self, node_id: int, image: MetadataImage, local: MarkerSender, peers: Peers) -> None:
        self._node_id = node_id
        self._image = image
        self._local = local
        self._peers = peers

    async def send(self, marker: Marker, partitions: Collection[TopicPartition]) -> Outcomes:
        by_leader: dict[int, list[TopicPartition]] = {}
        for each in partitions:
            by_leader.setdefault(self._leader_of(each), []).append(each)
        outcomes: Outcomes = {}
        for found in await asyncio.gather(
            *(self._send_to(leader, marker, partitions) for leader, partitions in by_leader.items())
        ):
            outcomes |= found
        return outcomes

    def _leader_of(self, target: TopicPartition) -> int:
        partition = self._image.partition(*target)
        return self._node_id if partition is None else partition.leader  # the local sender returns the error

    async def _send_to(self, leader: int, marker: Marker, partitions: list[TopicPartition]) -> Outcomes:
        if leader == self._node_id:
            return await self._local.send(marker, partitions)
        if leader == _NO_LEADER:
            return dict.fromkeys(partitions, ErrorCode.LEADER_NOT_AVAILABLE)
        wanted = markers_api.WritableTxnMarker(
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            transaction_result=marker.is_commit,
            topics=[
                markers_api.WritableTxnMarkerTopic(name=name, partition_indexes=numbers)
                for name, numbers in by_topic(partitions).items()
            ],
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=marker.transaction_version,
        )
        try:
            response: markers_api.WriteTxnMarkersResponse = await self._peers.channel(
                leader, waits_for="markers"
            ).call(
                _WRITE_MARKERS, _WRITE_MARKERS_VERSION, markers_api.WriteTxnMarkersRequest(markers=[wanted])
            )
        except (OSError, ProtocolError):
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        codes = {
            TopicPartition(topic.name, each.partition_index): ErrorCode(each.error_code)
            for topic in response.markers[0].topics
            for each in topic.partitions
        }
        return {each: codes.get(each, ErrorCode.UNKNOWN_SERVER_ERROR) for each in partitions}


class ClusterVerifier:
    """A `Verifier` for the transactional ids of all coordinators."""

    def __init__(self, node_id: int, leader_of: Callable[[str], int], local: Verifier, peers: Peers) -> None:
        self._node_id = node_id
        self._leader_of = leader_of
        self._local = local
        self._peers = peers

    async def verify(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> Outcomes:
        leader = self._leader_of(transactional_id)
        if leader == self._node_id:
            return await self._local.verify(transactional_id, producer, partitions)
        return await self._ask(leader, transactional_id, producer, partitions, verify_only=True)

    async def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Collection[TopicPartition]
    ) -> ErrorCode:
        leader = self._leader_of(transactional_id)
        if leader == self._node_id:
            return await self._local.add_partitions(transactional_id, producer, partitions)
        outcomes = await self._ask(leader, transactional_id, producer, partitions, verify_only=False)
        return next((code for code in outcomes.values() if code), ErrorCode.NONE)

    async def _ask(
        self,
        leader: int,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        *,
        verify_only: bool,
    ) -> Outcomes:
        if leader == _NO_LEADER:
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        transaction = add_api.AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            verify_only=verify_only,
            topics=[
                add_api.AddPartitionsToTxnTopic(name=name, partitions=numbers)
                for name, numbers in by_topic(partitions).items()
            ],
        )
        try:
            response: add_api.AddPartitionsToTxnResponse = await self._peers.channel(leader).call(
                _ADD_PARTITIONS,
                _ADD_PARTITIONS_VERSION,
                add_api.AddPartitionsToTxnRequest(transactions=[transaction]),
            )
        except (OSError, ProtocolError):
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        if response.error_code:
            return dict.fromkeys(partitions, ErrorCode(response.error_code))
        codes = {
            TopicPartition(topic.name, each.partition_index): ErrorCode(each.partition_error_code)
            for result in response.results_by_transaction
            for topic in result.topic_results
            for each in topic.results_by_partition
        }
        return {each: codes.get(each, ErrorCode.UNKNOWN_SERVER_ERROR) for each in partitions}
