"""Members of share groups, and what operators ask about their group."""

from typing import Any

from penstock.groups.share.group import ShareGroup
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from penstock.protocol.messages.delete_groups import DeleteGroupsRequest
from penstock.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from penstock.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponseGroup,
)
from penstock.protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from penstock.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.groups.services.member import LiveMember
from tests.server.live import Live, TopicHandle, code, one

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "share.coordinator.state.topic.num.partitions": "5",
    "group.share.assignment.interval.ms": "0",
}


def group_of(live: Live, group_id: str) -> ShareGroup:
    shard = live.services.groups.find(group_id)
    assert not isinstance(shard, ErrorCode)
    return shard.state.shares[group_id]


class ShareConsumer(LiveMember):
    """One member of a share group."""

    async def join(self, **more: Any) -> ShareGroupHeartbeatResponse:
        self.epoch = 0
        self.held = {}
        return await self.beat(subscribed_topic_names=[each.name for each in self.topics], **more)

    async def beat(self, **more: Any) -> ShareGroupHeartbeatResponse:
        fields = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            **more,
        }
        response: ShareGroupHeartbeatResponse = await self.heartbeat(ShareGroupHeartbeatRequest(**fields))
        return response

    async def leave(self) -> ShareGroupHeartbeatResponse:
        return await self.beat(member_epoch=-1)

    # -- requests of operators ------------------------------------------------------------------------

    async def describe(self, *, with_operations: bool = False) -> DescribedGroup:
        answer = await self.client.send(
            ShareGroupDescribeRequest(group_ids=[self.group], include_authorized_operations=with_operations)
        )
        described: DescribedGroup = one(answer.groups)
        return described

    async def offsets(
        self, topics: dict[str, list[int]] | None = None, version: int = 1
    ) -> DescribeShareGroupOffsetsResponseGroup:
        """Of all topics when none are given."""
        wanted = None
        if topics is not None:
            wanted = [
                DescribeShareGroupOffsetsRequestTopic(topic_name=n, partitions=p) for n, p in topics.items()
            ]
        group = DescribeShareGroupOffsetsRequestGroup(group_id=self.group, topics=wanted)
        answer = await self.client.send(DescribeShareGroupOffsetsRequest(groups=[group]), version)
        described: DescribeShareGroupOffsetsResponseGroup = one(answer.groups)
        return described

    async def starts(self, topic: TopicHandle) -> dict[int, tuple[int, int]]:
        """Start offset and lag of each partition that the group reads."""
        described = await self.offsets()
        assert code(described.error_code) == "NONE", described
        return {
            each.partition_index: (each.start_offset, each.lag)
            for found in described.topics
            if found.topic_name == topic.name
            for each in found.partitions
        }

    async def alter(self, topic: str, offsets: dict[int, int]) -> AlterShareGroupOffsetsResponse:
        partitions = [
            AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=offset)
            for number, offset in offsets.items()
        ]
        topics = [AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions)]
        answer: AlterShareGroupOffsetsResponse = await self.client.send(
            AlterShareGroupOffsetsRequest(group_id=self.group, topics=topics)
        )
        return answer

    async def delete_offsets(self, *topics: str) -> DeleteShareGroupOffsetsResponse:
        named = [DeleteShareGroupOffsetsRequestTopic(topic_name=each) for each in topics]
        answer: DeleteShareGroupOffsetsResponse = await self.client.send(
            DeleteShareGroupOffsetsRequest(group_id=self.group, topics=named)
        )
        return answer

    async def delete_group(self) -> str:
        answer = await self.client.send(DeleteGroupsRequest(groups_names=[self.group]))
        return code(one(answer.results).error_code)
