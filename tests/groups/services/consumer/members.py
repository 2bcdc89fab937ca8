"""Members of KIP-848 groups on a live broker, and their groups."""

from typing import Any

from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.shard.shard import GroupShard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from tests.groups.group_client import GroupClient
from tests.groups.services.member import LiveMember
from tests.server.live import Live, code, one

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "group.consumer.assignment.interval.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}


class Consumer(LiveMember):
    """One member of a KIP-848 group."""

    async def join(self, version: int = 1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        self.epoch = 0
        self.held = {}
        fields: dict[str, Any] = {
            "rebalance_timeout_ms": 10_000,
            "subscribed_topic_names": [each.name for each in self.topics],
            "topic_partitions": [],
            **more,
        }
        return await self.beat(version, **fields)

    async def beat(self, version: int = 1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        fields: dict[str, Any] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "topic_partitions": [
                RequestTopicPartitions(topic_id=t, partitions=p) for t, p in self.held.items()
            ],
            **more,
        }
        request = ConsumerGroupHeartbeatRequest(**fields)
        response: ConsumerGroupHeartbeatResponse = await self.heartbeat(request, version)
        return response

    async def leave(self, epoch: int = -1, **more: Any) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=epoch, **more
        )
        answer: ConsumerGroupHeartbeatResponse = await self.client.send(request)
        return answer

    async def describe(self, version: int = 1) -> DescribedGroup:
        answer = await self.client.send(ConsumerGroupDescribeRequest(group_ids=[self.group]), version)
        described: DescribedGroup = one(answer.groups)
        return described

    def offsets(self) -> GroupClient:
        """The same member, for requests about offsets."""
        client = GroupClient(self.client, self.group)
        client.member_id, client.generation = self.member_id, self.epoch
        return client


def shard_of(live: Live) -> GroupShard:
    shard = live.services.groups.find("g")
    assert not isinstance(shard, ErrorCode)
    return shard.state


def group_of(live: Live) -> ConsumerGroup:
    return shard_of(live).consumers["g"]


async def beat_until_stable(*consumers: Consumer) -> None:
    for _ in range(4):
        for each in consumers:
            assert code((await each.beat()).error_code) == "NONE"
