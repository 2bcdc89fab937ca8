"""OffsetFetch (key 9), v1-v10: the committed offsets of groups.

v2: all topics of a group (null). v7: wait for open transactions (`require_stable`, KIP-447). v8: several groups, each
with its error. v10: topics by id. An offset that was never committed is -1, without an error. Topics that may not be
described are left out of all topics of a group.
"""

from collections.abc import Awaitable, Sequence

from penstock.groups.offset_requests import Fetched, fetch
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group, may_topic

VERSIONS = range(1, 11)

_ERROR_FROM = 2
_GROUPS_FROM = 8
_BY_ID_FROM = 10


def handle(ctx: RequestContext, request: OffsetFetchRequest) -> Awaitable[OffsetFetchResponse]:
    if ctx.version >= _GROUPS_FROM:
        return _fetch_groups(ctx, request)
    return _fetch_one(ctx, request)


async def _fetch_groups(ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    groups = [await _fetch_group(ctx, group, request.require_stable) for group in request.groups]
    return OffsetFetchResponse(groups=groups)


async def _fetch_one(ctx: RequestContext, request: OffsetFetchRequest) -> OffsetFetchResponse:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes)
            for t in request.topics
        ]
    group = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    fetched = await _fetch_group(ctx, group, request.require_stable)
    if fetched.error_code and ctx.version < _ERROR_FROM:
        return _refused_v1(topics or [], ErrorCode(fetched.error_code))
    return OffsetFetchResponse(
        error_code=fetched.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=t.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=p.partition_index,
                        committed_offset=p.committed_offset,
                        committed_leader_epoch=p.committed_leader_epoch,
                        metadata=p.metadata,
                        error_code=p.error_code,
                    )
                    for p in t.partitions
                ],
            )
            for t in fetched.topics
        ],
    )


def _refused_v1(topics: Sequence[OffsetFetchRequestTopics], code: ErrorCode) -> OffsetFetchResponse:
    """v1 has errors of partitions only."""
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=t.name,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=p, committed_offset=-1, error_code=code)
                    for p in t.partition_indexes
                ],
            )
            for t in topics
        ]
    )


async def _fetch_group(
    ctx: RequestContext, group: OffsetFetchRequestGroup, require_stable: bool
) -> OffsetFetchResponseGroup:
    if not may_group(ctx, Operation.DESCRIBE, group.group_id):
        return OffsetFetchResponseGroup(
            group_id=group.group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
    unknown: list[OffsetFetchResponseTopics] = []
    wanted: list[tuple[str, int]] | None = None
    if group.topics is not None:
        wanted = []
        for topic in group.topics:
            name = _name_of(ctx, topic)
            if name is None:
                unknown.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID))
            elif not may_topic(ctx, Operation.DESCRIBE, name):
                unknown.append(_refused(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            else:
                wanted += [(name, partition) for partition in topic.partition_indexes]
    answer = fetch(
        ctx.broker.groups,
        group.group_id,
        wanted,
        require_stable=require_stable,
        member_id=group.member_id,
        member_epoch=group.member_epoch,
    )
    fetched = await answer if isinstance(answer, Awaitable) else answer
    if isinstance(fetched, ErrorCode):
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=fetched)
    if wanted is None:
        fetched = [each for each in fetched if may_topic(ctx, Operation.DESCRIBE, each.topic)]
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=_by_topic(ctx, fetched) + unknown)


def _name_of(ctx: RequestContext, topic: OffsetFetchRequestTopics) -> str | None:
    if ctx.version < _BY_ID_FROM:
        return topic.name
    known = ctx.broker.controller.image.topics_by_id.get(topic.topic_id)
    return None if known is None else known.name


def _refused(topic: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(partition_index=p, committed_offset=-1, error_code=code)
            for p in topic.partition_indexes
        ],
    )


def _by_topic(ctx: RequestContext, fetched: Sequence[Fetched]) -> list[OffsetFetchResponseTopics]:
    topics: dict[tuple[str, bytes], list[OffsetFetchResponsePartitions]] = {}
    for each in fetched:
        value = each.value
        topics.setdefault((each.topic, each.topic_id), []).append(
            OffsetFetchResponsePartitions(
                partition_index=each.partition,
                committed_offset=-1 if value is None else value.offset,
                committed_leader_epoch=-1 if value is None else value.leader_epoch,
                metadata="" if value is None else value.metadata,
                error_code=each.error,
            )
        )
    return [
        OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions)
        for (name, topic_id), partitions in topics.items()
        if ctx.version < _BY_ID_FROM or topic_id != ZERO_UUID  # a deleted topic has no id
    ]
