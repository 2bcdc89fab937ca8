"""Shared by the tests of groups with a live broker: the requests of a member, and reading its group's offsets."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, encode
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from penstock.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.server.live import Client, TopicHandle, code, one

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "5"}
SESSION_MS = 10_000
_numbers = itertools.count()


def unique_group() -> str:
    return f"group-{next(_numbers)}"


def subscription(*topics: str) -> bytes:
    """A consumer's metadata: version, then the topics it wants."""
    return b"\x00\x00" + encode(ConsumerProtocolSubscription(topics=list(topics)), 0)


class GroupClient:
    """One member, or somebody without a group, on its own connection."""

    def __init__(self, client: Client, group: str) -> None:
        self.client = client
        self.group = group
        self.member_id = ""
        self.generation = -1

    async def find(self) -> None:
        """Every client does this first; it creates the offsets topic."""
        answer = await self.client.send(FindCoordinatorRequest(key=self.group), 1)
        assert code(answer.error_code) == "NONE", answer

    async def join(self, version: int = 9, **more: Any) -> JoinGroupResponse:
        """Join, with the id that is asked for where one is."""
        answer = await self.begin_join(version, **more)
        if code(answer.error_code) == "MEMBER_ID_REQUIRED":
            self.member_id = answer.member_id
            answer = await self.begin_join(version, **more)
        if not answer.error_code:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        joined: JoinGroupResponse = answer
        return joined

    def begin_join(self, version: int = 9, *, topics: Sequence[str] = (), **more: Any) -> Any:
        fields = {
            "group_id": self.group,
            "member_id": self.member_id,
            "session_timeout_ms": SESSION_MS,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequestProtocol(name="range", metadata=subscription(*topics))],
            **more,
        }
        if version >= 1:
            fields.setdefault("rebalance_timeout_ms", SESSION_MS)
        return self.client.send(JoinGroupRequest(**fields), version)

    def sync(self, version: int = 5, assignments: Mapping[str, bytes] | None = None, **more: Any) -> Any:
        names = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
        request = SyncGroupRequest(
            group_id=self.group,
            member_id=self.member_id,
            generation_id=self.generation,
            assignments=[
                SyncGroupRequestAssignment(member_id=m, assignment=a) for m, a in (assignments or {}).items()
            ],
            **{**names, **more},
        )
        return self.client.send(request, version)

    async def heartbeat(self, version: int = 4) -> str:
        request = HeartbeatRequest(
            group_id=self.group, member_id=self.member_id, generation_id=self.generation
        )
        return code((await self.client.send(request, version)).error_code)

    async def leave(self, version: int = 5) -> str:
        if version < 3:
            request = LeaveGroupRequest(group_id=self.group, member_id=self.member_id)
            return code((await self.client.send(request, version)).error_code)
        request = LeaveGroupRequest(
            group_id=self.group, members=[MemberIdentity(member_id=self.member_id, reason="done")]
        )
        if version < 5:
            request = LeaveGroupRequest(
                group_id=self.group, members=[MemberIdentity(member_id=self.member_id)]
            )
        answer = await self.client.send(request, version)
        return code(answer.error_code or one(answer.members).error_code)

    async def make_stable(self) -> None:
        """Be the only member of a stable group."""
        await self.join()
        answer = await self.sync(assignments={self.member_id: b"mine"})
        assert code(answer.error_code) == "NONE"

    async def commit(
        self,
        topic: TopicHandle,
        offsets: Mapping[int, int],
        version: int = 10,
        *,
        metadata: str | None = "",
        leader_epoch: int = -1,
        **more: Any,
    ) -> dict[int, str]:
        """Commit to partitions of one topic; gives the code of each."""
        wanted = OffsetCommitRequestTopic(
            name="" if version >= 10 else topic.name,
            topic_id=topic.id if version >= 10 else bytes(16),
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=p,
                    committed_offset=o,
                    committed_metadata=metadata,
                    committed_leader_epoch=leader_epoch,
                )
                for p, o in offsets.items()
            ],
        )
        request = OffsetCommitRequest(
            group_id=self.group,
            member_id=self.member_id,
            generation_id_or_member_epoch=self.generation,
            topics=[wanted],
            **more,
        )
        answer = await self.client.send(request, version)
        return {p.partition_index: code(p.error_code) for t in answer.topics for p in t.partitions}

    async def committed(
        self, topic: TopicHandle, *partitions: int, version: int = 10, require_stable: bool = False
    ) -> dict[int, tuple[int, int, str]]:
        """Offset, leader epoch and metadata of partitions of one topic."""
        if version < 8:
            named = OffsetFetchRequestTopic(name=topic.name, partition_indexes=list(partitions))
            request = OffsetFetchRequest(group_id=self.group, topics=[named], require_stable=require_stable)
            answer = await self.client.send(request, version)
            topics = answer.topics
        else:
            wanted = OffsetFetchRequestTopics(
                name="" if version >= 10 else topic.name,
                topic_id=topic.id if version >= 10 else bytes(16),
                partition_indexes=list(partitions),
            )
            group = OffsetFetchRequestGroup(group_id=self.group, topics=[wanted])
            request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
            answer = one((await self.client.send(request, version)).groups)
            topics = answer.topics
        assert code(answer.error_code) == "NONE", answer
        return {
            p.partition_index: (p.committed_offset, p.committed_leader_epoch, p.metadata)
            for t in topics
            for p in t.partitions
        }
