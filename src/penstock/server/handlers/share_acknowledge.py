"""ShareAcknowledge (key 79), v1-v2: acknowledge fetched records without a fetch (KIP-932).

Stage one checks the session epoch and applies the acknowledgements, in connection order; stage two waits until they are
persisted. The final epoch ends the session and releases the member's records.
"""

from collections.abc import Awaitable

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import share_acknowledge as api
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.current_leader import LED_ELSEWHERE, current_leader
from penstock.server.handlers.shared.share_acknowledgements import (
    Outcomes,
    acknowledge,
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

_NO_LEADER = api.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)  # see `share_read.NO_LEADER`


def handle(
    ctx: RequestContext, request: api.ShareAcknowledgeRequest
) -> api.ShareAcknowledgeResponse | Awaitable[api.ShareAcknowledgeResponse]:
    code = refusal_of(ctx, request.group_id, request.member_id)
    if code:
        return api.ShareAcknowledgeResponse(error_code=code)
    member = MemberKey(request.group_id or "", request.member_id or "")
    try:
        session = _proceed(ctx, member, request.share_session_epoch)
    except SessionError as error:
        return api.ShareAcknowledgeResponse(error_code=error.code)
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
    ctx: RequestContext, request: api.ShareAcknowledgeRequest, session: ShareSession, outcomes: Outcomes
) -> api.ShareAcknowledgeResponse:
    results = await wait_for_outcomes(outcomes)
    if request.share_session_epoch == FINAL_EPOCH:
        ctx.broker.shares.end_session(session)
    topics: dict[bytes, api.ShareAcknowledgeTopicResponse] = {}
    leaders: dict[int, api.NodeEndpoint] = {}
    for name, outcome in results.items():
        topic = topics.get(name.topic_id)
        if topic is None:
            topic = topics[name.topic_id] = api.ShareAcknowledgeTopicResponse(
                topic_id=name.topic_id, partitions=[]
            )
        topic.partitions.append(_partition_of(ctx, name, outcome, leaders))
    settings = ctx.broker.shares.settings(session.key.group_id)
    return api.ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=settings.partition.lock_duration_ms,
        responses=list(topics.values()),
        node_endpoints=list(leaders.values()),
    )


def _partition_of(
    ctx: RequestContext, name: TopicPartition, outcome: Outcome, leaders: dict[int, api.NodeEndpoint]
) -> api.PartitionData:
    leader = _NO_LEADER
    if outcome.code in LED_ELSEWHERE:
        leader = current_leader(ctx, *name, leaders, api)
    return api.PartitionData(
        partition_index=name.partition,
        error_code=outcome.code,
        error_message=outcome.message,
        current_leader=leader,
    )
