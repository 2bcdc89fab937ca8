"""OffsetFetch (key 9), v1-v10: the committed offsets of groups.

v2: all topics of a group (null). v7: wait for open transactions (`require_stable`, KIP-447). v8: several groups, each
with its error. v10: topics by id. An offset that was never committed is -1, without an error. Topics that may not be
described are left out of all topics of a group.
"""

from collections.abc import Awaitable, Sequence

import msgspec

from penstock.groups.offset_requests import Fetched, fetch
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import offset_fetch as api
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group, may_topic

VERSIONS = range(1, 11)

_ERROR_FROM = 2
_GROUPS_FROM = 8
_BY_ID_FROM = 10


async def handle(ctx: RequestContext, request: api.OffsetFetchRequest) -> api.OffsetFetchResponse:
    if ctx.version >= _GROUPS_FROM:
        groups = [await _fetch_group(ctx, group, request.require_stable) for group in request.groups]
        return api.OffsetFetchResponse(groups=groups)
    topics = None
    if request.topics is not None:
        topics = [
            api.OffsetFetchRequestTopics(name=t.name, partition_indexes=t.partition_indexes)
            for t in request.topics
        ]
    group = api.OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    fetched = await _fetch_group(ctx, group, request.require_stable)
    found, code = fetched.topics, fetched.error_code
    if ctx.version < _ERROR_FROM and code:  # v1 has errors of partitions only
        found, code = [_refused(t, ErrorCode(code)) for t in topics or ()], ErrorCode.NONE
    return api.OffsetFetchResponse(
        error_code=code,
        topics=msgspec.convert(found, list[api.OffsetFetchResponseTopic], from_attributes=True),
    )


async def _fetch_group(
    ctx: RequestContext, group: api.OffsetFetchRequestGroup, require_stable: bool
) -> api.OffsetFetchResponseGroup:
    if not may_group(ctx, Operation.DESCRIBE, group.group_id):
        return api.OffsetFetchResponseGroup(
            group_id=group.group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED
        )
    unknown: list[api.OffsetFetchResponseTopics] = []
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
    response = fetch(
        ctx.broker.groups,
        group.group_id,
        wanted,
        require_stable=require_stable,
        member_id=group.member_id,
        member_epoch=group.member_epoch,
    )
    fetched = await response if isinstance(response, Awaitable) else response
    if isinstance(fetched, ErrorCode):
        return api.OffsetFetchResponseGroup(group_id=group.group_id, error_code=fetched)
    if wanted is None:
        fetched = [each for each in fetched if may_topic(ctx, Operation.DESCRIBE, each.topic)]
    return api.OffsetFetchResponseGroup(group_id=group.group_id, topics=_by_topic(ctx, fetched) + unknown)


def _name_of(ctx: RequestContext, topic: api.OffsetFetchRequestTopics) -> str | None:
    if ctx.version < _BY_ID_FROM:
        return topic.name
    known = ctx.broker.controller.image.topics_by_id.get(topic.topic_id)
    return None if known is None else known.name


def _refused(topic: api.OffsetFetchRequestTopics, code: ErrorCode) -> api.OffsetFetchResponseTopics:
    return api.OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            api.OffsetFetchResponsePartitions(partition_index=p, committed_offset=-1, error_code=code)
            for p in topic.partition_indexes
        ],
    )


def _by_topic(ctx: RequestContext, fetched: Sequence[Fetched]) -> list[api.OffsetFetchResponseTopics]:
    topics: dict[tuple[str, bytes], list[api.OffsetFetchResponsePartitions]] = {}
    for each in fetched:
        value = each.value
        topics.setdefault((each.topic, each.topic_id), []).append(
            api.OffsetFetchResponsePartitions(
                partition_index=each.partition,
                committed_offset=-1 if value is None else value.offset,
                committed_leader_epoch=-1 if value is None else value.leader_epoch,
                metadata="" if value is None else value.metadata,
                error_code=each.error,
            )
        )
    return [
        api.OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions)
        for (name, topic_id), partitions in topics.items()
        if ctx.version < _BY_ID_FROM or topic_id != ZERO_UUID  # a deleted topic has no id
    ]
