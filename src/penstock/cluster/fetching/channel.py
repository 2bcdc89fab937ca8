"""A follower's connection to a leader: Fetch and ListOffsets."""

from penstock.cluster.peers import PeerChannel
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import FetchRequest, FetchResponse
from penstock.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from penstock.storage.errors import LogError

_FETCH, _FETCH_VERSION = 1, 17
_LIST_OFFSETS, _LIST_OFFSETS_VERSION = 2, 9
_EARLIEST = -2


class LeaderRefused(LogError):
    """The leader refused to return its log start offset."""


class ConnectedLeader:
    def __init__(self, broker_id: int, channel: PeerChannel) -> None:
        self._broker_id = broker_id  # of the follower
        self._channel = channel

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        response: FetchResponse = await self._channel.call(_FETCH, _FETCH_VERSION, request)
        return response

    async def earliest_offset(self, replica: Replica) -> int:
        request = ListOffsetsRequest(
            replica_id=self._broker_id,
            topics=[
                ListOffsetsTopic(
                    name=replica.topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=replica.partition,
                            current_leader_epoch=replica.leader_epoch,
                            timestamp=_EARLIEST,
                        )
                    ],
                )
            ],
        )
        response: ListOffsetsResponse = await self._channel.call(
            _LIST_OFFSETS, _LIST_OFFSETS_VERSION, request
        )
        found = response.topics[0].partitions[0]
        if found.error_code:
            raise LeaderRefused(
                f"the leader of {replica.topic}-{replica.partition} answers {ErrorCode(found.error_code).name}"
            )
        return found.offset

    async def close(self) -> None:
        await self._channel.close()
