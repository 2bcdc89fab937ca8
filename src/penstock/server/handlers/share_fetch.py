"""ShareFetch (key 78), v1-v2: records for a member of a share group, and acknowledgements along with it (KIP-932).

Stage one adds the request to the member's session and applies the acknowledgements, in connection order. Stage two
waits until these are persisted, and for records: until there are `min_bytes` that can be acquired, at most
`max_wait_ms`; see `share_read`. A request that renews locks (KIP-1222) fetches nothing. With the final epoch the
session ends, and the records that the member still holds are released; the same happens when its connection ends.
"""

import asyncio
from collections.abc import Awaitable

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import share_fetch as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.current_leader import LED_ELSEWHERE, current_leader
from penstock.server.handlers.shared.long_poll import change, watching
from penstock.server.handlers.shared.permissions import denied_topics
from penstock.server.handlers.shared.share_acknowledgements import (
    Outcomes,
    acknowledge,
    has_acknowledgements,
    refusal_of,
    wait_for_outcomes,
)
from penstock.server.handlers.shared.share_read import Responses, ShareRead, failed
from penstock.share.led_partition import LedPartition
from penstock.share.partition.values import AcquireMode
from penstock.share.partitions import Outcome
from penstock.share.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MemberKey,
    SessionError,
    ShareSession,
    TopicPartition,
)
from penstock.share.state.values import SharePartitionKey

VERSIONS = range(1, 3)


def handle(
    ctx: RequestContext, request: api.ShareFetchRequest
) -> api.ShareFetchResponse | Awaitable[api.ShareFetchResponse]:
    code = refusal_of(ctx, request.group_id, request.member_id) or _refuse(request)
    if code:
        return api.ShareFetchResponse(error_code=code)
    member = MemberKey(request.group_id or "", request.member_id or "")
    try:
        session = _session(ctx, request, member)
    except SessionError as error:
        if error.code == ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            return _refuse_later(ctx, request, error.code)
        return api.ShareFetchResponse(error_code=error.code)
    outcomes: Outcomes = {}
    if has_acknowledgements(request.topics):
        outcomes = acknowledge(ctx, member, request.topics, is_renewal=request.is_renew_ack)
    return _respond(ctx, request, session, outcomes)


def _refuse(request: api.ShareFetchRequest) -> ErrorCode:
    if request.share_acquire_mode not in tuple(AcquireMode):
        return ErrorCode.INVALID_REQUEST
    fetches = request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
    return ErrorCode.INVALID_REQUEST if request.is_renew_ack and fetches else ErrorCode.NONE


async def _refuse_later(
    ctx: RequestContext, request: api.ShareFetchRequest, code: ErrorCode
) -> api.ShareFetchResponse:
    """Delay the error like a fetch that waits: the client retries at once."""
    deadline = asyncio.get_running_loop().time() + request.max_wait_ms / 1000
    with watching(ctx.peer, deadline, lambda _changed: ()) as changed:
        await change(changed)
    return api.ShareFetchResponse(error_code=code)


# -- the session --------------------------------------------------------------------------------------


def _session(ctx: RequestContext, request: api.ShareFetchRequest, member: MemberKey) -> ShareSession:
    """Return the session after this request. Raises `SessionError`."""
    sessions = ctx.broker.shares.sessions
    epoch = request.share_session_epoch
    wanted = [
        TopicPartition(topic.topic_id, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    if epoch == INITIAL_EPOCH:
        if has_acknowledgements(request.topics):
            raise SessionError(ErrorCode.INVALID_REQUEST)
        _end_with_connection(ctx)
        return sessions.begin(member, wanted, ctx.peer)
    session = sessions.get(member)
    if epoch != FINAL_EPOCH:
        session.proceed(epoch)
        sessions.update(
            session,
            wanted,
            (
                TopicPartition(topic.topic_id, number)
                for topic in request.forgotten_topics_data
                for number in topic.partitions
            ),
        )
    return session


def _end_with_connection(ctx: RequestContext) -> None:
    shares, peer = ctx.broker.shares, ctx.peer
    if not shares.add_owner(peer):
        return
    previous = peer.on_disconnect

    def on_leave_with_sessions() -> None:
        previous()
        shares.disconnected(peer)

    peer.on_disconnect = on_leave_with_sessions


# -- the response -------------------------------------------------------------------------------------


async def _respond(
    ctx: RequestContext, request: api.ShareFetchRequest, session: ShareSession, outcomes: Outcomes
) -> api.ShareFetchResponse:
    epoch = request.share_session_epoch
    responses: Responses = {}
    wait_ms = 0
    if epoch != FINAL_EPOCH and not request.is_renew_ack:
        responses, wait_ms = await _fetch(ctx, request, session)
    included = {
        name: data
        for name, data in responses.items()
        if _must_include(session, name, data) or epoch == INITIAL_EPOCH
    }
    results = await wait_for_outcomes(outcomes)
    if epoch == FINAL_EPOCH:
        ctx.broker.shares.end_session(session)
    topics, leaders = _by_topic(ctx, included, results)
    return api.ShareFetchResponse(
        throttle_time_ms=wait_ms,
        acquisition_lock_timeout_ms=ctx.broker.shares.settings(
            session.key.group_id
        ).partition.lock_duration_ms,
        responses=topics,
        node_endpoints=leaders,
    )


def _must_include(session: ShareSession, name: TopicPartition, data: api.PartitionData) -> bool:
    return session.must_include(
        name, has_records=bool(data.records), has_failed=data.error_code != ErrorCode.NONE
    )


async def _fetch(
    ctx: RequestContext, request: api.ShareFetchRequest, session: ShareSession
) -> tuple[Responses, int]:
    """Return the results of the partitions, and the throttle time of a client that has exceeded its quota."""
    image, shares = ctx.broker.controller.image, ctx.broker.shares
    group_id = request.group_id or ""
    settings = shares.settings(group_id)
    partitions = list(session.partitions)
    denied = denied_topics(ctx, Operation.READ, (name.topic_id for name in partitions))
    responses: Responses = {}
    led: dict[TopicPartition, LedPartition] = {}
    for name in partitions:
        topic = image.topic_by_id(name.topic_id)
        if topic is None:
            responses[name] = failed(name, ErrorCode.UNKNOWN_TOPIC_ID)
        elif name.topic_id in denied:
            responses[name] = failed(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif name.partition not in topic.partitions:
            responses[name] = failed(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif request.max_records:
            found = shares.partitions.led(SharePartitionKey(group_id, *name), settings)
            if isinstance(found, LedPartition):
                led[name] = found
                if name in session.unverified:
                    session.unverified.discard(name)
                    shares.partitions.verify(found)
            else:
                responses[name] = failed(name, found)
    if not led or request.max_records < 0 or request.max_bytes <= 0:
        return responses, 0
    read = ShareRead(ctx, request, session, led, reads_committed=settings.reads_committed)
    return responses | await read.responses(), read.wait_ms


def _by_topic(
    ctx: RequestContext, responses: Responses, results: dict[TopicPartition, Outcome]
) -> tuple[list[api.ShareFetchableTopicResponse], list[api.NodeEndpoint]]:
    """Return the results of fetches and acknowledgements by topic, with the leaders of partitions led elsewhere."""
    topics: dict[bytes, list[api.PartitionData]] = {}
    leaders: dict[int, api.NodeEndpoint] = {}
    for name in responses | results:
        data = responses.get(name) or failed(name, ErrorCode.NONE)
        outcome = results.get(name)
        if outcome is not None:
            data = msgspec.structs.replace(
                data, acknowledge_error_code=outcome.code, acknowledge_error_message=outcome.message
            )
        if data.error_code in LED_ELSEWHERE:
            leader = current_leader(ctx, *name, leaders, api)
            data = msgspec.structs.replace(data, current_leader=leader)
        topics.setdefault(name.topic_id, []).append(data)
    by_topic = [
        api.ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in topics.items()
    ]
    return by_topic, list(leaders.values())
