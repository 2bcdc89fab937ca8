"""Finds out whether the broker that leads a coordinator's partition serves it already.

That broker refuses clients until it has loaded the partition, and some clients then wait for long. So this broker asks
first, once in each leader epoch: the leader answers when it has loaded the partition.
"""

from typing import Final

from penstock.cluster.coordination.placement import partition_for
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.peers import Peers
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_FIND_COORDINATOR, _VERSION = 10, 6


class RemoteCoordinators:
    def __init__(self, image: MetadataImage, peers: Peers) -> None:
        self._image = image
        self._peers = peers
        self._ready: Final[dict[tuple[str, int], tuple[bytes, int]]] = {}
        """The topic id and leader epoch in which the leader of a partition was ready."""

    async def is_ready(self, key_type: int, topic: str, key: str) -> bool:
        """Whether the leader of a key's partition, another broker, serves it. False when it cannot be reached."""
        known = self._image.topics.get(topic)
        if known is None:
            return False
        number = partition_for(key, len(known.partitions))
        partition = known.partitions[number]
        epoch = (known.topic_id, partition.leader_epoch)
        if self._ready.get((topic, number)) != epoch:
            if not await self._ask(partition.leader, key_type, key):
                return False
            self._ready[topic, number] = epoch
        return True

    async def _ask(self, leader: int, key_type: int, key: str) -> bool:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        channel = self._peers.channel(leader, waits_for="coordinators")
        try:
            response: FindCoordinatorResponse = await channel.call(_FIND_COORDINATOR, _VERSION, request)
        except (OSError, ProtocolError):
            return False
        found = response.coordinators[0]
        return not found.error_code and found.node_id == leader
