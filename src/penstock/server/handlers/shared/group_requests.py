"""Common parts of group requests."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from penstock.config.settings.coordinators import OFFSET_METADATA_MAX_BYTES
from penstock.groups.base.context import GroupContext
from penstock.groups.base.errors import GroupError
from penstock.groups.services.base import EpochGroupService, Shard
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.offset_commit_record import OffsetCommitValue
from penstock.security.operations import Operation
from penstock.security.resources import ResourceType
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import denied_topics, may_group, permitted_operations

D = TypeVar("D", bound=msgspec.Struct)
R = TypeVar("R")
S = TypeVar("S", bound=Any)
G = TypeVar("G", bound=Any)


async def describe_groups(
    ctx: RequestContext,
    request: Any,
    service: EpochGroupService[G, S],
    describe: Callable[[G, GroupContext[S]], D],
    described_group: Callable[..., D],
) -> list[D]:
    """Describe the groups of a request. A group with a topic that the client may not describe is an error."""

    async def describe_one(group_id: str) -> D:
        shard = find_shard(ctx, service, group_id, Operation.DESCRIBE)
        if isinstance(shard, ErrorCode):
            raise GroupError(shard, "")
        description = describe(service.find(shard.state, group_id), service.context(group_id))
        found = await ctx.broker.groups.shards.after_commit(group_id, description)
        if isinstance(found, ErrorCode):
            raise GroupError(found, "")
        if denied_topics(ctx, Operation.DESCRIBE, _topics_of(found)):
            raise GroupError(
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                "The group has described topic(s) that the client is not authorized to describe.",
            )
        if request.include_authorized_operations:
            permitted = permitted_operations(ctx, ResourceType.GROUP, group_id)
            return msgspec.structs.replace(found, authorized_operations=permitted)
        return found

    described = []
    for group_id in dict.fromkeys(request.group_ids):
        try:
            described.append(await describe_one(group_id))
        except GroupError as error:
            message = error.message or None
            described.append(described_group(group_id=group_id, error_code=error.code, error_message=message))
    return described


def _topics_of(group: Any) -> set[str]:
    return {
        each.topic_name
        for member in group.members
        for assignment in (member.assignment, getattr(member, "target_assignment", None))
        if assignment is not None
        for each in assignment.topic_partitions
    }


def find_shard(
    ctx: RequestContext, service: EpochGroupService[Any, Any], group_id: str, operation: Operation
) -> Shard | ErrorCode:
    if not service.is_enabled:
        return ErrorCode.UNSUPPORTED_VERSION
    if not may_group(ctx, operation, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ctx.broker.groups.find(group_id) if group_id else ErrorCode.INVALID_GROUP_ID


async def change_share_offsets(
    ctx: RequestContext,
    group_id: str,
    operation: Operation,
    change: Callable[[Shard], Awaitable[Sequence[Any]]],
    response: Callable[..., R],
) -> R:
    shard = find_shard(ctx, ctx.broker.groups.shares, group_id, operation)
    if isinstance(shard, ErrorCode):
        is_denied = shard is ErrorCode.GROUP_AUTHORIZATION_FAILED
        return response(error_code=shard, error_message="Group authorization failed." if is_denied else None)
    try:
        return response(responses=await change(shard))
    except GroupError as error:
        return response(error_code=error.code, error_message=error.message)


def check_offset(ctx: RequestContext, topic: str, wanted: Any) -> ErrorCode:
    """Check the partition and the metadata of an offset in OffsetCommit or TxnOffsetCommit."""
    if ctx.broker.controller.image.partition(topic, wanted.partition_index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if len(wanted.committed_metadata or "") > ctx.broker.config[OFFSET_METADATA_MAX_BYTES]:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def offset_value(wanted: Any, topic_id: bytes, now_ms: int, expire_ms: int = -1) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=wanted.committed_offset,
        leader_epoch=wanted.committed_leader_epoch,
        metadata=wanted.committed_metadata or "",
        commit_timestamp=now_ms,
        expire_timestamp=expire_ms,
        topic_id=topic_id,
    )
