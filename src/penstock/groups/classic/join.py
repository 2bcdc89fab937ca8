"""JoinGroup to a classic group: admits or refuses a member, assigns it an id, and starts a rebalance."""

import msgspec

from penstock.groups.base.instant import Instant
from penstock.groups.classic import rebalance
from penstock.groups.classic.group import ClassicGroup, refused_join
from penstock.groups.classic.instructions import Answer, ReplacedMember, Store
from penstock.groups.classic.member import Member, Protocols
from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.join_group import JoinGroupRequest

NO_MEMBER_ID = ""


class Joiner(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a JoinGroup, besides the request."""

    ticket: int
    client_id: str
    client_host: str
    new_member_id: str
    """The id for a member that has none; made by the caller, because it is random."""
    requires_member_id: bool
    """KIP-394 (v4): a new member gets its id in an error response and joins again, so that a lost response leaves no
    ghost member."""
    may_skip_assignment: bool
    """KIP-814 (v9): a leader can be told to keep its old assignment."""


class _Join(msgspec.Struct, frozen=True):
    request: JoinGroupRequest
    protocols: Protocols
    joiner: Joiner
    now: Instant


def join(group: ClassicGroup, request: JoinGroupRequest, joiner: Joiner, now: Instant) -> None:
    member_id = request.member_id
    attempt = _Join(request, tuple((p.name, p.metadata) for p in request.protocols), joiner, now)
    if group.state is State.DEAD:
        _refuse(group, joiner, member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not _has_room(group, member_id):
        _refuse_full(group, attempt)
    elif not group.supports(request.protocol_type, attempt.protocols):
        _refuse(group, joiner, member_id, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif member_id == NO_MEMBER_ID:
        _join_new(group, attempt)
    elif member_id in group.pending_members and request.group_instance_id is None:
        _add(group, attempt, member_id)
    else:
        code = group.check_member(member_id, request.group_instance_id)
        if code:
            _refuse(group, joiner, member_id, code)
        else:
            _rejoin(group, attempt, group.members[member_id])


def _has_room(group: ClassicGroup, member_id: str) -> bool:
    if group.state is State.EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is State.PREPARING_REBALANCE:
        # Counts parked joins, not members: when the limit was lowered, the last to join are refused.
        has_joined = member is not None and member.join_ticket is not None
        return has_joined or group.joining_count < group.settings.size_max
    return member is not None or len(group.members) < group.settings.size_max


def _refuse_full(group: ClassicGroup, attempt: _Join) -> None:
    group.remove(attempt.request.member_id)
    _refuse(group, attempt.joiner, NO_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED)
    rebalance.complete_if_all_joined(group, attempt.now)


def _join_new(group: ClassicGroup, attempt: _Join) -> None:
    request, joiner = attempt.request, attempt.joiner
    if request.group_instance_id is not None:
        if request.group_instance_id in group.static_members:
            _return_static(group, attempt, request.group_instance_id)
        else:
            _add(group, attempt, joiner.new_member_id)
    elif joiner.requires_member_id:
        deadline_ms = attempt.now.monotonic_ms + request.session_timeout_ms
        group.pending_members[joiner.new_member_id] = deadline_ms
        group.wake_by(deadline_ms)
        _refuse(group, joiner, joiner.new_member_id, ErrorCode.MEMBER_ID_REQUIRED)
    else:
        _add(group, attempt, joiner.new_member_id)


def _add(group: ClassicGroup, attempt: _Join, member_id: str) -> None:
    request, joiner, now = attempt.request, attempt.joiner, attempt.now
    member = Member(
        member_id=member_id,
        instance_id=request.group_instance_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=attempt.protocols,
    )
    member.is_new = True
    if group.initial_delay is not None:
        group.has_new_joins = True
    group.add(member, request.protocol_type)
    group.park_join(member, joiner.ticket)
    group.restart_session(member, now, group.settings.new_member_timeout_ms)
    rebalance.rebalance_or_complete(group, now)


def _rejoin(group: ClassicGroup, attempt: _Join, member: Member) -> None:
    request, joiner = attempt.request, attempt.joiner
    if group.state is State.EMPTY:
        _refuse(group, joiner, member.member_id, ErrorCode.UNKNOWN_MEMBER_ID)
        return
    # A member that repeats its join in a complete generation has only missed the response. But the leader joins to
    # start a rebalance, for example because a topic has new partitions.
    is_repeated = member.protocols == attempt.protocols and (
        group.state is State.COMPLETING_REBALANCE
        or (group.state is State.STABLE and member.member_id != group.leader_id)
    )
    if is_repeated:
        group.outbox.append(Answer(joiner.ticket, group.join_response(member.member_id)))
        return
    # The client gave up on an earlier join and sent another: only the later one is parked.
    group.answer_join(member, refused_join(member.member_id, ErrorCode.REBALANCE_IN_PROGRESS))
    group.update(member, attempt.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.park_join(member, joiner.ticket)
    rebalance.rebalance_or_complete(group, attempt.now)


def _return_static(group: ClassicGroup, attempt: _Join, instance_id: str) -> None:
    """A static member restarted: it keeps its assignment under a new id (KIP-345)."""
    request, joiner = attempt.request, attempt.joiner
    old_member_id = group.static_members[instance_id]
    old = group.members[old_member_id]
    replaced = ReplacedMember(
        instance_id=instance_id,
        old_member_id=old_member_id,
        new_member_id=joiner.new_member_id,
        old_leader_id=group.leader_id,
        old_protocols=old.protocols,
        old_session_timeout_ms=old.session_timeout_ms,
        old_rebalance_timeout_ms=old.rebalance_timeout_ms,
        may_skip_assignment=joiner.may_skip_assignment,
    )
    member = group.replace_static(instance_id, joiner.new_member_id)
    group.update(member, attempt.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.restart_session(member, attempt.now)
    group.park_join(member, joiner.ticket)
    if group.state is State.STABLE and group.elect_protocol() == group.protocol_name:
        group.outbox.append(Store(group.record(), replaced))
    else:
        # The awaited assignment would contain the old id, so the group has to rebalance.
        rebalance.rebalance_or_complete(group, attempt.now)


def replacement_stored(group: ClassicGroup, replaced: ReplacedMember) -> None:
    """The new id is committed: the member continues with its old assignment."""
    member = group.members.get(replaced.new_member_id)
    if group.state is not State.STABLE or member is None:
        return  # a rebalance has begun and will answer the join
    response = group.join_response(member.member_id)
    if replaced.may_skip_assignment:
        is_leader = member.member_id == group.leader_id
        response = msgspec.structs.replace(response, skip_assignment=is_leader)
    else:
        # An older client that is named as leader would assign, so the response names its old id.
        response = msgspec.structs.replace(response, leader=replaced.old_leader_id or "", members=[])
    group.answer_join(member, response)


def replacement_not_stored(group: ClassicGroup, replaced: ReplacedMember, code: ErrorCode) -> None:
    """Restore the old id, because the log does not have the new one."""
    member = group.members.get(replaced.new_member_id)
    if member is not None and group.state is State.STABLE:
        group.answer_join(member, refused_join(NO_MEMBER_ID, code))
        group.replace_static(replaced.instance_id, replaced.old_member_id)
        group.update(
            member, replaced.old_protocols, replaced.old_session_timeout_ms, replaced.old_rebalance_timeout_ms
        )


def _refuse(group: ClassicGroup, joiner: Joiner, member_id: str, code: ErrorCode) -> None:
    group.outbox.append(Answer(joiner.ticket, refused_join(member_id, code)))
