"""JoinGroup to a classic group: who may come in, under which id, and whether that makes the group rebalance."""

import msgspec

from penstock.groups.classic import rebalance
from penstock.groups.classic.group import ClassicGroup, refused_join
from penstock.groups.classic.instructions import Answer, ReplacedMember, Store
from penstock.groups.classic.member import Member, Protocols
from penstock.groups.classic.states import State
from penstock.groups.moment import Moment
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.join_group import JoinGroupRequest

NO_MEMBER_ID = ""


class Joiner(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of whoever sends a JoinGroup besides the request."""

    ticket: int
    client_id: str
    client_host: str
    new_member_id: str
    """The id that it gets if it has none; made outside, because it is random."""
    must_know_its_id: bool
    """KIP-394 (v4): it is first told its id and joins again, so that a lost answer leaves no ghost member."""
    may_skip_assignment: bool
    """KIP-814 (v9): a leader can be told that its old assignment stands."""


class _Attempt(msgspec.Struct, frozen=True):
    """One JoinGroup on its way through the group."""

    request: JoinGroupRequest
    protocols: Protocols
    joiner: Joiner
    moment: Moment


def join(group: ClassicGroup, request: JoinGroupRequest, joiner: Joiner, moment: Moment) -> None:
    member_id = request.member_id
    attempt = _Attempt(request, tuple((p.name, p.metadata) for p in request.protocols), joiner, moment)
    if group.state is State.DEAD:
        _refuse(group, joiner, member_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not _has_room(group, member_id):
        _turn_away(group, attempt)
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
        # Those that have joined are counted, not the members: when the limit was lowered, the last are turned away.
        has_joined = member is not None and member.join_ticket is not None
        return has_joined or group.joining_count < group.settings.size_max
    return member is not None or len(group.members) < group.settings.size_max


def _turn_away(group: ClassicGroup, attempt: _Attempt) -> None:
    group.remove(attempt.request.member_id)
    _refuse(group, attempt.joiner, NO_MEMBER_ID, ErrorCode.GROUP_MAX_SIZE_REACHED)
    rebalance.complete_if_all_joined(group, attempt.moment)


def _join_new(group: ClassicGroup, attempt: _Attempt) -> None:
    request, joiner = attempt.request, attempt.joiner
    if request.group_instance_id is not None:
        if request.group_instance_id in group.static_members:
            _come_back(group, attempt, request.group_instance_id)
        else:
            _add(group, attempt, joiner.new_member_id)
    elif joiner.must_know_its_id:
        deadline_ms = attempt.moment.monotonic_ms + request.session_timeout_ms
        group.pending_members[joiner.new_member_id] = deadline_ms
        group.wake_by(deadline_ms)
        _refuse(group, joiner, joiner.new_member_id, ErrorCode.MEMBER_ID_REQUIRED)
    else:
        _add(group, attempt, joiner.new_member_id)


def _add(group: ClassicGroup, attempt: _Attempt, member_id: str) -> None:
    request, joiner, moment = attempt.request, attempt.joiner, attempt.moment
    member = Member(
        member_id,
        instance_id=request.group_instance_id,
        client_id=joiner.client_id,
        client_host=joiner.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        protocols=attempt.protocols,
    )
    member.is_new = True
    if group.initial_delay is not None:
        group.is_joined_by_others = True
    group.add(member, request.protocol_type)
    group.park_join(member, joiner.ticket)
    group.hear_of(member, moment, group.settings.new_member_timeout_ms)
    rebalance.rebalance_or_complete(group, moment)


def _rejoin(group: ClassicGroup, attempt: _Attempt, member: Member) -> None:
    request, joiner = attempt.request, attempt.joiner
    if group.state is State.EMPTY:
        _refuse(group, joiner, member.member_id, ErrorCode.UNKNOWN_MEMBER_ID)
        return
    # In a generation that stands, a member that asks again with nothing new only missed the answer. But the leader
    # joins to make the group rebalance, for example because a topic grew.
    is_repeated = member.protocols == attempt.protocols and (
        group.state is State.COMPLETING_REBALANCE
        or (group.state is State.STABLE and member.member_id != group.leader_id)
    )
    if is_repeated:
        group.outbox.append(Answer(joiner.ticket, group.joined(member.member_id)))
        return
    # Its client gave up on an earlier join and sent another: only the later one is kept for the rebalance.
    group.answer_join(member, refused_join(member.member_id, ErrorCode.REBALANCE_IN_PROGRESS))
    group.update(member, attempt.protocols, request.session_timeout_ms, request.rebalance_timeout_ms)
    group.park_join(member, joiner.ticket)
    rebalance.rebalance_or_complete(group, attempt.moment)


def _come_back(group: ClassicGroup, attempt: _Attempt, instance_id: str) -> None:
    """A static member restarted: it takes over its own place under a new id (KIP-345)."""
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
    group.hear_of(member, attempt.moment)
    group.park_join(member, joiner.ticket)
    if group.state is State.STABLE and group.elect_protocol() == group.protocol_name:
        group.outbox.append(Store(group.record(), replaced))
    else:
        # While an assignment is awaited it would name the older self: the group has to begin anew.
        rebalance.rebalance_or_complete(group, attempt.moment)


def replacement_stored(group: ClassicGroup, replaced: ReplacedMember) -> None:
    """The new id is committed: the member goes on with its old assignment."""
    member = group.members.get(replaced.new_member_id)
    if group.state is not State.STABLE or member is None:
        return  # a rebalance has begun, which answers the join
    response = group.joined(member.member_id)
    if replaced.may_skip_assignment:
        is_leader = member.member_id == group.leader_id
        response = msgspec.structs.replace(response, skip_assignment=is_leader)
    else:
        # Older clients would assign if they were told that they lead: they are told their old self does.
        response = msgspec.structs.replace(response, leader=replaced.old_leader_id or "", members=[])
    group.answer_join(member, response)


def replacement_not_stored(group: ClassicGroup, replaced: ReplacedMember, code: ErrorCode) -> None:
    """The member goes on as what it was: the log knows no other."""
    member = group.members.get(replaced.new_member_id)
    if member is not None and group.state is State.STABLE:
        group.answer_join(member, refused_join(NO_MEMBER_ID, code))
        group.replace_static(replaced.instance_id, replaced.old_member_id)
        group.update(
            member, replaced.old_protocols, replaced.old_session_timeout_ms, replaced.old_rebalance_timeout_ms
        )


def _refuse(group: ClassicGroup, joiner: Joiner, member_id: str, code: ErrorCode) -> None:
    group.outbox.append(Answer(joiner.ticket, refused_join(member_id, code)))
