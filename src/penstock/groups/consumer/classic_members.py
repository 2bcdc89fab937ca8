"""Members of a KIP-848 group that still use the classic protocol (KIP-848, online migration).

To them the group looks like a classic group whose leader is another member. A heartbeat makes them rejoin whenever
they have to revoke partitions or can get some; the join reports their partitions, the sync returns their assignment.
Their generation is their epoch.
"""

from collections.abc import Sequence

import msgspec

from penstock.groups.base.context import ConsumerContext
from penstock.groups.base.errors import GroupError, unknown_member
from penstock.groups.base.member import Client
from penstock.groups.base.timers import Awaited
from penstock.groups.classic.group import refused_join
from penstock.groups.classic.subscriptions import CONSUMER_PROTOCOL
from penstock.groups.consumer import membership
from penstock.groups.consumer.consumer_protocol import by_topic_id, decode_subscription, encode_assignment
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.heartbeat import advance, check_room
from penstock.groups.consumer.member import ClassicProtocols, Member, assignment_in
from penstock.groups.consumer.states import MemberState
from penstock.groups.consumer.subscription import refresh, subscribe
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.heartbeat import HeartbeatRequest
from penstock.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from penstock.protocol.messages.leave_group import MemberIdentity, MemberResponse
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class Joiner(msgspec.Struct, frozen=True):
    client: Client
    new_member_id: str
    """The id for a member that has none."""
    requires_member_id: bool
    """KIP-394 (v4): a new member gets its id in an error response and joins again."""


def join(
    group: ConsumerGroup, request: JoinGroupRequest, joiner: Joiner, ctx: ConsumerContext
) -> JoinGroupResponse:
    """Unlike in a classic group, the response does not wait for other members, only for the log."""
    member_id = request.member_id or joiner.new_member_id
    check_room(group, member_id, ctx.settings.size_max)
    _check_protocols(group, request)
    if joiner.requires_member_id and not request.member_id and request.group_instance_id is None:
        return refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED)
    protocols = tuple((p.name, p.metadata) for p in request.protocols)
    try:
        subscription = decode_subscription(protocols[0][1])
    except ProtocolError as error:
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from error
    before = _find(group, request, member_id)
    member = msgspec.structs.replace(
        before or Member(member_id=member_id),
        instance_id=request.group_instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        server_assignor=None,
        topic_names=frozenset(subscription.topics),
        topic_regex="",
        client_id=joiner.client.client_id,
        client_host=joiner.client.client_host,
        classic=ClassicProtocols(request.session_timeout_ms, protocols),
    )
    subscribe(group, before, member, ctx)
    owned = by_topic_id(((each.topic, each.partitions) for each in subscription.owned_partitions), ctx.image)
    member = advance(group, member_id, owned, ctx, at_once=True)
    group.timers.start(member_id, Awaited.HEARTBEAT, ctx.now, request.session_timeout_ms)
    group.timers.stop(member_id, Awaited.JOIN)
    group.timers.start(member_id, Awaited.SYNC, ctx.now, request.rebalance_timeout_ms)
    return JoinGroupResponse(
        member_id=member_id,
        generation_id=member.epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=protocols[0][0],
    )


def _check_protocols(group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """All classic members must have a protocol in common, because the group may become classic again."""
    known = [
        {name for name, _ in m.classic.protocols} for m in group.members.values() if m.classic is not None
    ]
    shared = {p.name for p in request.protocols}.intersection(*known)
    if request.protocol_type != CONSUMER_PROTOCOL or not shared:
        raise GroupError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Member {request.member_id}'s protocols are not supported.",
        )


def _find(group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> Member | None:
    if request.group_instance_id is None:
        return group.members.get(member_id)
    known = group.static_member(request.group_instance_id)
    if request.member_id:
        if known is None:
            raise unknown_member(group.group_id, member_id)
        if known.member_id != member_id:
            raise membership.fenced_instance(known, member_id)
        return known
    return None if known is None else membership.replace_static(group, known, member_id)


def sync(group: ConsumerGroup, request: SyncGroupRequest, ctx: ConsumerContext) -> SyncGroupResponse:
    member, classic = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    name, metadata = classic.protocols[0]
    if request.protocol_type not in (None, CONSUMER_PROTOCOL) or request.protocol_name not in (None, name):
        raise GroupError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"The group uses {CONSUMER_PROTOCOL} and {name}."
        )
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        _await_join(group, member, ctx)
        raise GroupError(ErrorCode.REBALANCE_IN_PROGRESS, "A new rebalance is triggered.")
    group.timers.stop(member.member_id, Awaited.SYNC)
    group.timers.start(member.member_id, Awaited.HEARTBEAT, ctx.now, classic.session_timeout_ms)
    return SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=encode_assignment(assignment_in(member.assigned), metadata, ctx.image),
    )


def heartbeat(group: ConsumerGroup, request: HeartbeatRequest, ctx: ConsumerContext) -> ErrorCode:
    member, classic = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    group.timers.start(member.member_id, Awaited.HEARTBEAT, ctx.now, classic.session_timeout_ms)
    if group.must_refresh:
        refresh(group, ctx, is_changed=False)
    may_take = member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member)
    if member.epoch < group.epoch or may_take or member.state is MemberState.UNREVOKED_PARTITIONS:
        _await_join(group, member, ctx)
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _await_join(group: ConsumerGroup, member: Member, ctx: ConsumerContext) -> None:
    """Give the member its rebalance timeout to rejoin, counted from the first response that asked for it."""
    group.timers.start_if_stopped(member.member_id, Awaited.JOIN, ctx.now, member.rebalance_timeout_ms)


def leave(
    group: ConsumerGroup, leaving: Sequence[MemberIdentity], ctx: ConsumerContext
) -> list[MemberResponse]:
    """Remove members together; static members also by their instance ids alone (KIP-345)."""
    left: dict[str, Member] = {}
    responses = []
    for each in leaving:
        code = ErrorCode.NONE
        known = group.static_member(each.group_instance_id)
        member_id = known.member_id if known is not None and not each.member_id else each.member_id
        try:
            member, _ = _classic_member(group, member_id, each.group_instance_id)
            if member.member_id in left:
                raise unknown_member(group.group_id, member_id)  # the request names it twice
            left[member.member_id] = member
        except GroupError as error:
            code = error.code
        responses.append(
            MemberResponse(
                member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
            )
        )
    if left:
        membership.remove(group, list(left.values()), ctx)
    return responses


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[Member, ClassicProtocols]:
    member = membership.authenticated_member(group, member_id, instance_id)
    if member.classic is None:
        raise GroupError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol."
        )
    return member, member.classic


def _check_generation(member: Member, generation: int) -> None:
    if member.epoch != generation:
        raise GroupError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation} is not equal to the member epoch {member.epoch} of member "
            f"{member.member_id}.",
        )
