"""ShareAcknowledge (key 79), v1-v2: acknowledge fetched records without a fetch (KIP-932).

Stage one checks the session epoch and applies the acknowledgements, in connection order; stage two waits until they are
written. The final epoch ends the session and releases the records of the member.
"""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.share_acknowledgements import (
    Outcomes,
    acknowledge,
    current_leader,
    refusal_of,
    wait_for_outcomes,
)
from penstock.share.partitions import Outcome
from penstock.share.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MemberKey,
    SessionError,
    ShareSession,
    TopicPartition,
)

VERSIONS = range(1, 3)

_LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_NO_LEADER = LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)  # see `share_read.NO_LEADER`


def handle(
    ctx: RequestContext, request: ShareAcknowledgeRequest
) -> ShareAcknowledgeResponse | Awaitable[ShareAcknowledgeResponse]:
    code = refusal_of(ctx, request.group_id, request.member_id)
    if code:
        return ShareAcknowledgeResponse(error_code=code)
    member = MemberKey(request.group_id or "", request.member_id or "")
    try:
        session = _proceed(ctx, member, request.share_session_epoch)
    except SessionError as error:
        return ShareAcknowledgeResponse(error_code=error.code)
    outcomes = acknowledge(ctx, member, request.topics, is_renewal=request.is_renew_ack)
    return _respond(ctx, request, session, outcomes)


def _proceed(ctx: RequestContext, member: MemberKey, epoch: int) -> ShareSession:
    if epoch == INITIAL_EPOCH:
        raise SessionError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    session = ctx.broker.shares.sessions.get(member)
    if epoch != FINAL_EPOCH:
        session.proceed(epoch)
    return session


async def _respond(
    ctx: RequestContext, request: ShareAcknowledgeRequest, session: ShareSession, outcomes: Outcomes
) -> ShareAcknowledgeResponse:
    results = await wait_for_outcomes(outcomes)
    if request.share_session_epoch == FINAL_EPOCH:
        ctx.broker.shares.end_session(session)
    topics: dict[bytes, ShareAcknowledgeTopicResponse] = {}
    leaders: dict[int, NodeEndpoint] = {}
    for name, outcome in results.items():
        topic = topics.get(name.topic_id)
        if topic is None:
            topic = topics[name.topic_id] = ShareAcknowledgeTopicResponse(
                topic_id=name.topic_id, partitions=[]
            )
        topic.partitions.append(_partition_of(ctx, name, outcome, leaders))
    settings = ctx.broker.shares.settings(session.key.group_id)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=settings.partition.lock_duration_ms,
        responses=list(topics.values()),
        node_endpoints=list(leaders.values()),
    )


def _partition_of(
    ctx: RequestContext, name: TopicPartition, outcome: Outcome, leaders: dict[int, NodeEndpoint]
) -> PartitionData:
    leader = _NO_LEADER
    if outcome.code in _LED_ELSEWHERE:
        node_id, epoch, endpoint, rack = current_leader(ctx, name)
        leader = LeaderIdAndEpoch(leader_id=node_id, leader_epoch=epoch)
        if endpoint is not None:
            leaders[node_id] = NodeEndpoint(
                node_id=node_id, host=endpoint.host, port=endpoint.port, rack=rack
            )
    return PartitionData(
        partition_index=name.partition,
        error_code=outcome.code,
        error_message=outcome.message,
        current_leader=leader,
    )
