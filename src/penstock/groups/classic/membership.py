"""Heartbeat and LeaveGroup to a classic group, and checks of requests about its offsets."""

from collections.abc import Sequence

from penstock.groups.base.instant import Instant
from penstock.groups.classic import rebalance
from penstock.groups.classic.group import ClassicGroup
from penstock.groups.classic.states import State
from penstock.groups.classic.subscriptions import CONSUMER_PROTOCOL
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.leave_group import MemberIdentity, MemberResponse


def heartbeat(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, now: Instant
) -> ErrorCode:
    if group.state is State.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = group.check_member(member_id, instance_id)
    if code:
        return code
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    group.restart_session(group.members[member_id], now)
    if group.state is State.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(group: ClassicGroup, leaving: Sequence[MemberIdentity], now: Instant) -> list[MemberResponse]:
    """Remove members together; static members also by their instance ids alone (KIP-345)."""
    responses = [
        MemberResponse(
            member_id=each.member_id,
            group_instance_id=each.group_instance_id,
            error_code=_leave_one(group, each),
        )
        for each in leaving
    ]
    if any(not each.error_code for each in responses):
        if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
            rebalance.prepare(group, now)
        else:
            rebalance.complete_if_all_joined(group, now)
    return responses


def _leave_one(group: ClassicGroup, leaving: MemberIdentity) -> ErrorCode:
    member_id = leaving.member_id
    if not member_id:
        member_id = group.static_members.get(leaving.group_instance_id or "", "")
        if not member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
    elif member_id in group.pending_members:
        group.remove(member_id)
        return ErrorCode.NONE
    else:
        code = group.check_member(member_id, leaving.group_instance_id)
        if code:
            return code
    rebalance.remove_member(group, group.members[member_id])
    return ErrorCode.NONE


def check_commit(
    group: ClassicGroup,
    member_id: str,
    instance_id: str | None,
    generation: int,
    *,
    is_transactional: bool = False,
) -> ErrorCode:
    """Check whether this member may commit offsets. Anyone without a generation may commit to an empty group."""
    if group.state is State.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if generation < 0 and group.state is State.EMPTY:
        return ErrorCode.NONE
    if generation >= 0 or member_id or instance_id is not None:
        code = group.check_member(member_id, instance_id)
        if code:
            return code
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
    elif not is_transactional and group.state is not State.EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not is_transactional and group.state is State.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def note_commit(group: ClassicGroup, member_id: str, now: Instant) -> None:
    """Restart the session of a member that commits."""
    member = group.members.get(member_id)
    if member is not None and group.state in (State.STABLE, State.PREPARING_REBALANCE):
        group.restart_session(member, now)


def check_delete(group: ClassicGroup) -> ErrorCode:
    if group.state is State.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NONE if group.state is State.EMPTY else ErrorCode.NON_EMPTY_GROUP


def check_offset_delete(group: ClassicGroup) -> ErrorCode:
    """Offsets of a group with members can be deleted if the broker knows its subscriptions (KIP-496)."""
    if group.state is State.DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is State.EMPTY or group.protocol_type == CONSUMER_PROTOCOL:
        return ErrorCode.NONE
    return ErrorCode.NON_EMPTY_GROUP
