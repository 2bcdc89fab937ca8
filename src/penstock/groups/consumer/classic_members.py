"""Members of a KIP-848 group that still speak the classic protocol (KIP-848, online migration).

To them the group looks like a classic one whose leader is elsewhere: a heartbeat tells them to join again whenever they
are to give something up or can get something; the join says what they hold, the sync what they have now. Their
generation is their epoch.
"""

from collections.abc import Sequence

import msgspec

from penstock.groups.classic.group import refused_join
from penstock.groups.consumer import membership
from penstock.groups.consumer.embedded import (
    CONSUMER_PROTOCOL,
    by_topic_id,
    decode_subscription,
    encode_assignment,
)
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.heartbeat import Client, advance, check_room
from penstock.groups.consumer.member import ClassicProtocols, Member, partitions_of
from penstock.groups.consumer.situation import Situation
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
    """The id that it gets if it has none."""
    must_know_its_id: bool
    """KIP-394 (v4): it is first told its id and joins again."""


def join(
    group: ConsumerGroup, request: JoinGroupRequest, joiner: Joiner, now: Situation
) -> JoinGroupResponse:
    """Unlike in a classic group nobody waits: the answer is there when the records are written."""
    member_id = request.member_id or joiner.new_member_id
    check_room(group, member_id, now.settings.size_max)
    _check_protocols(group, request)
    if joiner.must_know_its_id and not request.member_id and request.group_instance_id is None:
        return refused_join(member_id, ErrorCode.MEMBER_ID_REQUIRED)
    protocols = tuple((p.name, p.metadata) for p in request.protocols)
    try:
        said = decode_subscription(protocols[0][1])
    except ProtocolError as error:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from error
    before = _find(group, request, member_id)
    member = msgspec.structs.replace(
        before or Member(member_id=member_id),
        instance_id=request.group_instance_id,
        rack_id=said.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        server_assignor=None,
        topic_names=frozenset(said.topics),
        topic_regex="",
        client_id=joiner.client.client_id,
        client_host=joiner.client.client_host,
        classic=ClassicProtocols(request.session_timeout_ms, protocols),
    )
    subscribe(group, before, member, now)
    held = by_topic_id(((each.topic, each.partitions) for each in said.owned_partitions), now.image)
    member = advance(group, member_id, held, now, at_once=True)
    group.timers.expect(member_id, now.moment, request.session_timeout_ms)
    group.timers.await_sync(member_id, now.moment, request.rebalance_timeout_ms)
    return JoinGroupResponse(
        member_id=member_id,
        generation_id=member.epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=protocols[0][0],
    )


def _check_protocols(group: ConsumerGroup, request: JoinGroupRequest) -> None:
    """A protocol that all classic members know must be left: the group may become classic again."""
    known = [
        {name for name, _ in m.classic.protocols} for m in group.members.values() if m.classic is not None
    ]
    shared = {p.name for p in request.protocols}.intersection(*known)
    if request.protocol_type != CONSUMER_PROTOCOL or not shared:
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Member {request.member_id}'s protocols are not supported.",
        )


def _find(group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> Member | None:
    if request.group_instance_id is None:
        return group.members.get(member_id)
    known = group.static_member(request.group_instance_id)
    if request.member_id:
        if known is None:
            raise membership.unknown_member(group, member_id)
        if known.member_id != member_id:
            raise membership.fenced_instance(known, member_id)
        return known
    return None if known is None else membership.replace_static(group, known, member_id)


def sync(group: ConsumerGroup, request: SyncGroupRequest, now: Situation) -> SyncGroupResponse:
    member, classic = _speaker(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    name, metadata = classic.protocols[0]
    if request.protocol_type not in (None, CONSUMER_PROTOCOL) or request.protocol_name not in (None, name):
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"The group uses {CONSUMER_PROTOCOL} and {name}."
        )
    if group.epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        group.timers.await_join(member.member_id, now.moment, member.rebalance_timeout_ms)
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS, "A new rebalance is triggered.")
    group.timers.synced(member.member_id)
    group.timers.expect(member.member_id, now.moment, classic.session_timeout_ms)
    return SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=encode_assignment(partitions_of(member.assigned), metadata, now.image),
    )


def heartbeat(group: ConsumerGroup, request: HeartbeatRequest, now: Situation) -> ErrorCode:
    member, classic = _speaker(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    group.timers.expect(member.member_id, now.moment, classic.session_timeout_ms)
    if group.must_refresh:
        refresh(group, now, is_changed=False)
    may_take = member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member)
    if member.epoch < group.epoch or may_take or member.state is MemberState.UNREVOKED_PARTITIONS:
        group.timers.await_join(member.member_id, now.moment, member.rebalance_timeout_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(group: ConsumerGroup, leaving: Sequence[MemberIdentity], now: Situation) -> list[MemberResponse]:
    """Remove members together; static ones by their instance ids alone, if need be (KIP-345)."""
    left: dict[str, Member] = {}
    responses = []
    for each in leaving:
        code = ErrorCode.NONE
        known = group.static_member(each.group_instance_id)
        member_id = known.member_id if known is not None and not each.member_id else each.member_id
        try:
            member, _ = _speaker(group, member_id, each.group_instance_id)
            if member.member_id in left:
                raise membership.unknown_member(group, member_id)  # named twice
            left[member.member_id] = member
        except Refused as refused:
            code = refused.code
        responses.append(
            MemberResponse(
                member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code
            )
        )
    if left:
        membership.remove(group, list(left.values()), now)
    return responses


def _speaker(
    group: ConsumerGroup, member_id: str, instance_id: str | None
) -> tuple[Member, ClassicProtocols]:
    member = membership.leaving_member(group, member_id, instance_id)
    if member.classic is None:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member.member_id} does not use the classic protocol."
        )
    return member, member.classic


def _check_generation(member: Member, generation: int) -> None:
    if member.epoch != generation:
        raise Refused(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation} is not equal to the member epoch {member.epoch} of member "
            f"{member.member_id}.",
        )
