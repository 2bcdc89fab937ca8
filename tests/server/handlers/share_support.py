"""A member of a share group, request by request."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.protocol.messages import share_acknowledge, share_fetch
from penstock.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from penstock.protocol.messages.share_fetch import (
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from penstock.share.led_partition import LedPartition
from penstock.share.state.values import SharePartitionKey
from tests.server.live import Client, Live, TopicHandle, one, records_in

FOREVER_MS = 100_000
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
_numbers = itertools.count()

Acks = Mapping[int, Sequence[tuple[int, int, Sequence[int]]]]
"""By partition: first and last offset, and their types."""


async def prepared(live: Live, topic: TopicHandle, partitions: int = 1, start_offset: int = 0) -> str:
    """A new group whose coordinator has prepared the state of these partitions."""
    group_id = f"share-{next(_numbers)}"
    for number in range(partitions):
        await live.services.persister.initialize(
            SharePartitionKey(group_id, topic.id, number), 0, start_offset
        )
    return group_id


def led(live: Live, group_id: str, topic: TopicHandle, partition: int = 0) -> LedPartition:
    found = live.services.shares.partitions.get(SharePartitionKey(group_id, topic.id, partition))
    assert found is not None
    return found


class Member:
    """One member on one connection, with the epoch of its session."""

    def __init__(self, client: Client, group_id: str, topic: TopicHandle, name: str = "") -> None:
        self.client = client
        self.group_id = group_id
        self.topic = topic
        self.name = name or f"member-{next(_numbers)}"
        self.epoch = 0

    async def fetch(
        self,
        partitions: Sequence[int] = (),
        *,
        acks: Acks | None = None,
        forget: Sequence[int] = (),
        version: int = 2,
        **fields: Any,
    ) -> ShareFetchResponse:
        """The next fetch of the session; the first names partition 0 by default."""
        wanted = partitions or ((0,) if self.epoch == 0 else ())
        numbers = dict.fromkeys([*wanted, *(acks or {})])
        request = ShareFetchRequest(
            **{
                "group_id": self.group_id,
                "member_id": self.name,
                "share_session_epoch": self.epoch,
                "max_wait_ms": 0,
                "min_bytes": 1,
                "max_bytes": 1 << 20,
                "max_records": 500,
                "batch_size": 500,
                "topics": [FetchTopic(topic_id=self.topic.id, partitions=[_wanted(n, acks) for n in numbers])]
                if numbers
                else [],
                "forgotten_topics_data": [ForgottenTopic(topic_id=self.topic.id, partitions=list(forget))]
                if forget
                else [],
                **fields,
            }
        )
        if request.share_session_epoch >= 0:
            self.epoch = request.share_session_epoch + 1
        response: ShareFetchResponse = await self.client.send(request, version)
        return response

    async def take(self, partitions: Sequence[int] = (), **fields: Any) -> PartitionData:
        """Fetch of one partition, for as long as it takes; gives its part of the answer."""
        response = await self.fetch(partitions, **{"max_wait_ms": FOREVER_MS, **fields})
        assert response.error_code == 0, response
        return one([p for t in response.responses for p in t.partitions])

    async def acknowledge(
        self, acks: Acks, *, epoch: int | None = None, version: int = 2, is_renew_ack: bool = False
    ) -> ShareAcknowledgeResponse:
        used = self.epoch if epoch is None else epoch
        request = ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.name,
            share_session_epoch=used,
            is_renew_ack=is_renew_ack,
            topics=[
                share_acknowledge.AcknowledgeTopic(
                    topic_id=self.topic.id,
                    partitions=[
                        share_acknowledge.AcknowledgePartition(
                            partition_index=number,
                            acknowledgement_batches=[
                                share_acknowledge.AcknowledgementBatch(
                                    first_offset=first, last_offset=last, acknowledge_types=list(types)
                                )
                                for first, last, types in batches
                            ],
                        )
                        for number, batches in acks.items()
                    ],
                )
            ],
        )
        response: ShareAcknowledgeResponse = await self.client.send(request, version)
        if not response.error_code and used > 0:
            self.epoch = used + 1
        return response

    async def done_with(self, first: int, last: int, kind: int = ACCEPT) -> int:
        """Acknowledge records of partition 0; gives the error code."""
        response = await self.acknowledge({0: [(first, last, [kind])]})
        assert response.error_code == 0, response
        return one([p for t in response.responses for p in t.partitions]).error_code


def _wanted(number: int, acks: Acks | None) -> share_fetch.FetchPartition:
    return share_fetch.FetchPartition(
        partition_index=number,
        acknowledgement_batches=[
            share_fetch.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=list(types)
            )
            for first, last, types in (acks or {}).get(number, ())
        ],
    )


def acquired(data: PartitionData) -> list[tuple[int, int, int]]:
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records]


def offsets_in(data: PartitionData) -> list[int]:
    return [record.offset for record in records_in(data)]


def partitions_of(response: ShareFetchResponse) -> dict[int, PartitionData]:
    return {p.partition_index: p for t in response.responses for p in t.partitions}
