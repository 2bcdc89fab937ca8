"""DescribeShareGroupOffsets (key 90), v0-v1: the start offsets of share groups, and from v1 on their lag (KIP-1226).

Without topics: all partitions of the group, except of topics that the client may not describe.
"""

import asyncio

from penstock.groups.services import share_offsets
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_share_group_offsets as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group, may_topic
from penstock.share.state.values import UNINITIALIZED_OFFSET

VERSIONS = range(2)


async def handle(
    ctx: RequestContext, request: api.DescribeShareGroupOffsetsRequest
) -> api.DescribeShareGroupOffsetsResponse:
    groups = await asyncio.gather(*(_describe_group(ctx, each) for each in request.groups))
    return api.DescribeShareGroupOffsetsResponse(groups=groups)


async def _describe_group(
    ctx: RequestContext, wanted: api.DescribeShareGroupOffsetsRequestGroup
) -> api.DescribeShareGroupOffsetsResponseGroup:
    if not ctx.broker.groups.shares.is_enabled:
        return _refused(wanted, ErrorCode.UNSUPPORTED_VERSION)
    if not may_group(ctx, Operation.DESCRIBE, wanted.group_id):
        return _refused(wanted, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    named = _all_topics(ctx, wanted.group_id) if wanted.topics is None else wanted.topics
    if isinstance(named, ErrorCode):
        return _refused(wanted, named)
    allowed = [each for each in named if may_topic(ctx, Operation.DESCRIBE, each.topic_name)]
    topics = await share_offsets.describe(
        ctx.broker.groups.shares,
        ctx.broker.controller.image,
        wanted.group_id,
        [(each.topic_name, each.partitions) for each in allowed],
    )
    if wanted.topics is not None:
        topics += [_denied(each) for each in named if each not in allowed]
    return api.DescribeShareGroupOffsetsResponseGroup(group_id=wanted.group_id, topics=topics)


def _all_topics(
    ctx: RequestContext, group_id: str
) -> list[api.DescribeShareGroupOffsetsRequestTopic] | ErrorCode:
    shard = ctx.broker.groups.find(group_id)
    if isinstance(shard, ErrorCode):
        return shard
    group = shard.state.shares.get(group_id)
    if group is None:
        return []
    names = ctx.broker.controller.image.topics_by_id
    return [
        api.DescribeShareGroupOffsetsRequestTopic(
            topic_name=names[topic_id].name, partitions=sorted(partitions)
        )
        for topic_id, partitions in group.state_partitions.initialized.items()
        if topic_id in names
    ]


def _refused(
    wanted: api.DescribeShareGroupOffsetsRequestGroup, code: ErrorCode
) -> api.DescribeShareGroupOffsetsResponseGroup:
    return api.DescribeShareGroupOffsetsResponseGroup(group_id=wanted.group_id, error_code=code)


def _denied(topic: api.DescribeShareGroupOffsetsRequestTopic) -> api.DescribeShareGroupOffsetsResponseTopic:
    return api.DescribeShareGroupOffsetsResponseTopic(
        topic_name=topic.topic_name,
        partitions=[
            api.DescribeShareGroupOffsetsResponsePartition(
                partition_index=each,
                start_offset=UNINITIALIZED_OFFSET,
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                error_message="Topic authorization failed.",
            )
            for each in topic.partitions
        ],
    )
