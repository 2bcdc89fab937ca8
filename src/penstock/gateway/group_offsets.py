"""Committed offsets of consumer groups, for dialects that commit without joining a group."""

from collections.abc import Awaitable

from penstock.client.core.operations import NO_COORDINATOR
from penstock.client.metadata import TopicPartition
from penstock.gateway.forwarding import Forwarder
from penstock.gateway.partitions import PartitionRefused
from penstock.groups.offset_requests import Committer, commit, fetch, settled
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.wire import ZERO_UUID
from penstock.server.context import Services


class GroupOffsets:
    """Keeps offsets with the group coordinator, as a Kafka consumer does that manages its partitions itself."""

    def __init__(self, services: Services, remote: Forwarder) -> None:
        self._services = services
        self._remote = remote

    async def commit(self, group: str, where: TopicPartition, offset: int) -> None:
        """Returns when the offset is durable. Raises `PartitionRefused`."""
        groups = self._services.groups
        await groups.ensure_ready(group)
        known = self._services.controller.image.topics.get(where.topic)
        value = OffsetCommitValue(
            offset=offset,
            commit_timestamp=self._services.clock.now_ms(),
            topic_id=ZERO_UUID if known is None else known.topic_id,
        )
        key = OffsetCommitKey(group=group, topic=where.topic, partition=where.partition)
        code = await settled(commit(groups, Committer(group_id=group), [(key, value)]))
        if code in NO_COORDINATOR:
            await self._remote.commit(group, where, offset)
        elif code == ErrorCode.UNKNOWN_MEMBER_ID:
            raise PartitionRefused(
                code, f"group {group!r} has members: only they may commit until they have left"
            )
        elif code:
            raise PartitionRefused(code, f"group {group!r} cannot commit now: {code.name}")

    async def committed(self, group: str, where: TopicPartition) -> int | None:
        """The committed offset; None without one. Raises `PartitionRefused`."""
        groups = self._services.groups
        await groups.ensure_ready(group)
        outcome = fetch(groups, group, [where], require_stable=False)
        fetched = await outcome if isinstance(outcome, Awaitable) else outcome
        if fetched in NO_COORDINATOR:
            return await self._remote.committed(group, where)
        if isinstance(fetched, ErrorCode):
            raise PartitionRefused(fetched, f"the offsets of group {group!r} cannot be read: {fetched.name}")
        value = fetched[0].value
        return None if value is None else value.offset
