"""A connection to a leader at the source: a consumer's Fetch and ListOffsets, in the version that the source knows.

Here a topic is known by its own id. The source knows it by another id (Fetch from v13 on) or by its name.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from penstock.client.connection import Connection
from penstock.cluster.fetching.channel import LeaderRefused
from penstock.cluster.peers import PeerChannel
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import fetch as fetch_api
from penstock.protocol.messages import list_offsets
from penstock.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)

_EARLIEST: Final = -2
_HAS_IDS_FROM: Final = 13
_COMPARES_EPOCHS_FROM: Final = 12  # KIP-595: the source finds out whether its log differs
_WAIT_MS_MAX: Final = 5_000
_NO_ID: Final = bytes(16)


class SourceName(NamedTuple):
    """The name and the id of a topic at the source; the id is zero if the source has none."""

    name: str
    topic_id: bytes


Names = Callable[[bytes], SourceName | None]
"""Finds a topic at the source by its id here."""


class SourceLeader:
    def __init__(self, connection: Connection, names: Names, timeout_ms: Callable[[], int]) -> None:
        self._connection = connection
        self._names = names
        self._known: dict[bytes | str, bytes] = {}
        self._channel = PeerChannel(self._reuse, lambda: timeout_ms() + _WAIT_MS_MAX)
        self._version = connection.info.version(fetch_api.API_KEY)

    async def _reuse(self) -> Connection:
        if self._connection.is_lost:
            raise ConnectionError("the source closed the connection")
        return self._connection

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        here = {}
        topics = []
        for topic in request.topics:
            there = self._there(topic.topic_id)
            here[self._key(there)] = topic.topic_id
            topics.append(
                FetchTopic(
                    topic=there.name,
                    topic_id=there.topic_id,
                    partitions=[self._asked(each) for each in topic.partitions],
                )
            )
        asked = msgspec.structs.replace(
            request,
            topics=topics,
            forgotten_topics_data=[
                ForgottenTopic(topic=known.name, topic_id=known.topic_id, partitions=each.partitions)
                for each in request.forgotten_topics_data
                if (known := self._names(each.topic_id)) is not None
            ],
        )
        response: FetchResponse = await self._channel.call(fetch_api.API_KEY, self._version, asked)
        return self._translated(response, here)

    def _there(self, topic_id: bytes) -> SourceName:
        there = self._names(topic_id)
        if there is None:
            raise ConnectionError("a topic is not mirrored any more")
        return there

    def _key(self, there: SourceName) -> bytes | str:
        return there.topic_id if self._version >= _HAS_IDS_FROM else there.name

    def _asked(self, partition: FetchPartition) -> FetchPartition:
        """As a consumer asks: it has no log start, and the leader epoch here is not the source's."""
        compares = self._version >= _COMPARES_EPOCHS_FROM
        return FetchPartition(
            partition=partition.partition,
            fetch_offset=partition.fetch_offset,
            last_fetched_epoch=partition.last_fetched_epoch if compares else -1,
            partition_max_bytes=partition.partition_max_bytes,
        )

    def _translated(self, response: FetchResponse, here: Mapping[bytes | str, bytes]) -> FetchResponse:
        """The response with the ids that the topics have here. In a session it has topics of earlier requests too."""
        self._known |= here
        return msgspec.structs.replace(
            response,
            responses=[
                msgspec.structs.replace(each, topic_id=self._known.get(key, _NO_ID))
                for each in response.responses
                for key in (each.topic_id if self._version >= _HAS_IDS_FROM else each.topic,)
            ],
        )

    async def earliest_offset(self, replica: Replica) -> int:
        partition = list_offsets.ListOffsetsPartition(partition_index=replica.partition, timestamp=_EARLIEST)
        request = list_offsets.ListOffsetsRequest(
            replica_id=-1,
            topics=[
                list_offsets.ListOffsetsTopic(name=self._there(replica.topic_id).name, partitions=[partition])
            ],
        )
        version = self._connection.info.version(list_offsets.API_KEY)
        response = await self._channel.call(list_offsets.API_KEY, version, request)
        found = response.topics[0].partitions[0]
        if found.error_code:
            raise LeaderRefused(
                f"the source answers {ErrorCode(found.error_code).name} for the start of "
                f"{replica.topic}-{replica.partition}"
            )
        return int(found.offset)

    async def close(self) -> None:
        await self._channel.close()
        self._connection.abort()
