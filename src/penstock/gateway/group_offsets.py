"""Committed offsets of consumer groups, for dialects that commit without joining a group."""

from collections.abc import Awaitable
from typing import Protocol

from penstock.gateway.partitions import PartitionRefused
from penstock.groups.committing import Committer, commit, fetch
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.wire import ZERO_UUID
from penstock.server.context import Services


class GroupOffsets(Protocol):
    """Where a dialect keeps how far a group has read."""

    async def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        """Returns when the offset is durable. Raises `PartitionRefused`."""
        ...

    async def committed(self, group: str, topic: str, partition: int) -> int | None:
        """The offset to go on from; None when the group never committed one."""
        ...


class CoordinatorOffsets:
    """Keeps offsets with the group coordinator, as a Kafka consumer does that manages its partitions itself."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def commit(self, group: str, topic: str, partition: int, offset: int) -> None:
        groups = self._services.groups
        await groups.ready_home(group)
        known = self._services.controller.image.topics.get(topic)
        value = OffsetCommitValue(
            offset=offset,
            commit_timestamp=self._services.clock.now_ms(),
            topic_id=ZERO_UUID if known is None else known.topic_id,
        )
        key = OffsetCommitKey(group=group, topic=topic, partition=partition)
        outcome = commit(groups, Committer(group_id=group), [(key, value)])
        code = await outcome if isinstance(outcome, Awaitable) else outcome
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            raise PartitionRefused(
                code, f"group {group!r} has members: only they may commit until they have left"
            )
        if code:
            raise PartitionRefused(code, f"group {group!r} cannot commit now: {code.name}")

    async def committed(self, group: str, topic: str, partition: int) -> int | None:
        groups = self._services.groups
        await groups.ready_home(group)
        outcome = fetch(groups, group, [(topic, partition)], require_stable=False)
        fetched = await outcome if isinstance(outcome, Awaitable) else outcome
        if isinstance(fetched, ErrorCode):
            raise PartitionRefused(fetched, f"the offsets of group {group!r} cannot be read: {fetched.name}")
        value = fetched[0].value
        return None if value is None else value.offset
