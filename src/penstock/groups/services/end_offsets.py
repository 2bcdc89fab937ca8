"""The end offsets of partitions, asked from their leaders, to compute the lag of a share group (KIP-1226)."""

import asyncio
from collections.abc import Collection
from itertools import groupby
from typing import Protocol

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.peers import Peers
from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import list_offsets as wire

TopicPartition = tuple[str, int]
EndOffsets = dict[TopicPartition, int | ErrorCode]

_LIST_OFFSETS, _LIST_OFFSETS_VERSION = 2, 8
_LATEST = -1
_CLIENT = -1


class EndOffsetSource(Protocol):
    async def latest(self, partitions: Collection[TopicPartition]) -> EndOffsets: ...


class ClusterEndOffsets:
    def __init__(self, node_id: int, image: MetadataImage, replicas: Replicas, peers: Peers) -> None:
        self._node_id = node_id
        self._image = image
        self._replicas = replicas
        self._peers = peers

    async def latest(self, partitions: Collection[TopicPartition]) -> EndOffsets:
        """Return the offset after the last record that consumers may read, or an error."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for each in partitions:
            partition = self._image.partition(*each)
            leader = self._node_id if partition is None else partition.leader
            by_leader.setdefault(leader, []).append(each)
        found: EndOffsets = {each: self._local(each) for each in by_leader.pop(self._node_id, [])}
        for remote in await asyncio.gather(*(self._remote(*each) for each in by_leader.items())):
            found |= remote
        return found

    def _local(self, partition: TopicPartition) -> int | ErrorCode:
        leader = self._replicas.leader_of(*partition)
        return leader.high_watermark if isinstance(leader, Replica) else leader

    async def _remote(self, leader: int, partitions: list[TopicPartition]) -> EndOffsets:
        if leader < 0:
            return dict.fromkeys(partitions, ErrorCode.LEADER_NOT_AVAILABLE)
        request = wire.ListOffsetsRequest(
            replica_id=_CLIENT,
            topics=[
                wire.ListOffsetsTopic(
                    name=name,
                    partitions=[
                        wire.ListOffsetsPartition(partition_index=number, timestamp=_LATEST)
                        for _, number in group
                    ],
                )
                for name, group in groupby(sorted(partitions), key=lambda each: each[0])
            ],
        )
        try:
            response: wire.ListOffsetsResponse = await self._peers.channel(leader).call(
                _LIST_OFFSETS, _LIST_OFFSETS_VERSION, request
            )
        except (OSError, ProtocolError):
            return dict.fromkeys(partitions, ErrorCode.NETWORK_EXCEPTION)
        found: EndOffsets = {
            (topic.name, each.partition_index): ErrorCode(each.error_code) or each.offset
            for topic in response.topics
            for each in topic.partitions
        }
        return {each: found.get(each, ErrorCode.UNKNOWN_SERVER_ERROR) for each in partitions}
