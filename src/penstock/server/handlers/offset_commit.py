"""OffsetCommit (key 8), v2-v10: store the offsets of a group.

v2-v4 may have a retention time (KIP-211 left that to the broker). v6: with the leader epoch of the offset. v9: also for
KIP-848 groups. v10: topics by id. Unknown partitions have separate errors; an error of the member applies to all.
"""

import msgspec

from penstock.groups.offset_requests import Committer, commit, outcome_of
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import offset_commit as api
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.runtime.completion import Completion, Reply
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.group_requests import check_offset, offset_value
from penstock.server.handlers.shared.permissions import may_group, may_topic

VERSIONS = range(2, 11)

_BY_ID_FROM = 10


def handle(
    ctx: RequestContext, request: api.OffsetCommitRequest
) -> api.OffsetCommitResponse | Reply[api.OffsetCommitResponse]:
    is_allowed = may_group(ctx, Operation.READ, request.group_id)
    now_ms = ctx.broker.clock.now_ms()
    expire_ms = -1 if request.retention_time_ms < 0 else now_ms + request.retention_time_ms
    commits: list[tuple[OffsetCommitKey, OffsetCommitValue]] = []
    topics = []
    for topic in request.topics:
        partitions = []
        name, topic_id, refusal = _resolve(ctx, topic)
        if not is_allowed:
            refusal = ErrorCode.GROUP_AUTHORIZATION_FAILED
        for wanted in topic.partitions:
            code = refusal or check_offset(ctx, name, wanted)
            partitions.append(
                api.OffsetCommitResponsePartition(partition_index=wanted.partition_index, error_code=code)
            )
            if not code:
                key = OffsetCommitKey(group=request.group_id, topic=name, partition=wanted.partition_index)
                commits.append((key, offset_value(wanted, topic_id, now_ms, expire_ms)))
        topics.append(
            api.OffsetCommitResponseTopic(name=name, topic_id=topic.topic_id, partitions=partitions)
        )
    response = api.OffsetCommitResponse(topics=topics)
    if not commits:
        return response
    committer = Committer(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id_or_member_epoch,
        version=ctx.version,
    )
    outcome = commit(ctx.broker.groups, committer, commits)
    if isinstance(outcome, Completion):
        return Reply.after(outcome, lambda done: _with(response, outcome_of(done)))
    return _with(response, outcome)


def _resolve(ctx: RequestContext, topic: api.OffsetCommitRequestTopic) -> tuple[str, bytes, ErrorCode]:
    image = ctx.broker.controller.image
    if ctx.version >= _BY_ID_FROM:
        by_id = image.topics_by_id.get(topic.topic_id)
        if by_id is None:
            return "", topic.topic_id, ErrorCode.UNKNOWN_TOPIC_ID
        return by_id.name, by_id.topic_id, _denied(ctx, by_id.name)
    if _denied(ctx, topic.name):
        return topic.name, topic.topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    by_name = image.topics.get(topic.name)
    if by_name is None:
        return topic.name, topic.topic_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return topic.name, by_name.topic_id, ErrorCode.NONE


def _denied(ctx: RequestContext, topic: str) -> ErrorCode:
    is_allowed = may_topic(ctx, Operation.READ, topic)
    return ErrorCode.NONE if is_allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _with(response: api.OffsetCommitResponse, code: ErrorCode) -> api.OffsetCommitResponse:
    """Apply the error of the group to every partition without a separate error."""
    if not code:
        return response
    return api.OffsetCommitResponse(
        topics=[
            msgspec.structs.replace(
                topic,
                partitions=[
                    p if p.error_code else msgspec.structs.replace(p, error_code=code)
                    for p in topic.partitions
                ],
            )
            for topic in response.topics
        ]
    )
