"""Copies the committed offsets of groups without members here, so that a group that moves over continues there.

Offsets only move forward: a group that has consumed here is not sent back. And never beyond the records that are here.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from penstock.client.metadata import TopicPartition
from penstock.cluster.coordination.placement import partition_for
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.state import NO_LEADER
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.cluster.peers import Peers
from penstock.mirror.source_view import CommittedOffset
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages import offset_commit, offset_fetch

log = logging.getLogger(__name__)

_FETCH_VERSION, _COMMIT_VERSION = 7, 9
_CALLS: Final = "mirror"


class GroupOffsets:
    def __init__(
        self, image: MetadataImage, peers: Peers, create_topic: Callable[[str], Awaitable[Any]]
    ) -> None:
        self._image = image
        self._peers = peers
        self._create_topic = create_topic
        self._known: dict[str, dict[TopicPartition, int]] = {}
        """What was copied last: unchanged offsets cost no request here."""

    async def copy(
        self,
        group: str,
        there: Mapping[TopicPartition, CommittedOffset],
        end_offsets: Mapping[TopicPartition, int],
    ) -> None:
        """Commit the offsets of a group at the source. `end_offsets` are those of the mirrored partitions here."""
        wanted = {
            where: committed._replace(offset=min(committed.offset, end_offsets[where]))
            for where, committed in there.items()
            if where in end_offsets
        }
        offsets = {where: each.offset for where, each in wanted.items()}
        if not wanted or self._known.get(group) == offsets:
            return
        coordinator = await self._coordinator(group)
        if coordinator == NO_LEADER:
            return
        try:
            here = await self._committed(coordinator, group)
            if here is None:
                return
            ahead = {where: each for where, each in wanted.items() if each.offset > here.get(where, -1)}
            if not ahead or await self._commit(coordinator, group, ahead):
                self._known[group] = offsets
        except (OSError, ProtocolError) as error:
            log.debug("Cannot copy the offsets of group %s: %s", group, error)

    async def _coordinator(self, group: str) -> int:
        topic = self._image.topic(CONSUMER_OFFSETS)
        if topic is None:
            await self._create_topic(CONSUMER_OFFSETS)
            return NO_LEADER
        return topic.partitions[partition_for(group, len(topic.partitions))].leader

    async def _committed(self, coordinator: int, group: str) -> dict[TopicPartition, int] | None:
        channel = self._peers.channel(coordinator, waits_for=_CALLS)
        request = offset_fetch.OffsetFetchRequest(group_id=group, topics=None)
        response: offset_fetch.OffsetFetchResponse = await channel.call(
            offset_fetch.API_KEY, _FETCH_VERSION, request
        )
        if response.error_code:
            return None
        return {
            TopicPartition(topic.name, each.partition_index): each.committed_offset
            for topic in response.topics
            for each in topic.partitions
        }

    async def _commit(
        self, coordinator: int, group: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> bool:
        """False if the group has members here, or its coordinator is not ready."""
        topics: dict[str, list[offset_commit.OffsetCommitRequestPartition]] = {}
        for where, each in offsets.items():
            topics.setdefault(where.topic, []).append(
                offset_commit.OffsetCommitRequestPartition(
                    partition_index=where.partition,
                    committed_offset=each.offset,
                    committed_leader_epoch=each.leader_epoch,
                    committed_metadata=each.metadata,
                )
            )
        request = offset_commit.OffsetCommitRequest(
            group_id=group,
            topics=[
                offset_commit.OffsetCommitRequestTopic(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        channel = self._peers.channel(coordinator, waits_for=_CALLS)
        response: offset_commit.OffsetCommitResponse = await channel.call(
            offset_commit.API_KEY, _COMMIT_VERSION, request
        )
        codes = {each.error_code for topic in response.topics for each in topic.partitions}
        return codes == {ErrorCode.NONE}
