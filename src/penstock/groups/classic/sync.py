"""SyncGroup to a classic group: the leader sends the assignment; every member gets its part once it is committed."""

from penstock.groups.base.instant import Instant
from penstock.groups.classic import rebalance
from penstock.groups.classic.group import NEVER, ClassicGroup
from penstock.groups.classic.instructions import Answer, AssignmentOf, Store
from penstock.groups.classic.member import Member
from penstock.groups.classic.states import Event, State
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync(group: ClassicGroup, request: SyncGroupRequest, ticket: int) -> None:
    code = _check(group, request)
    if code:
        group.outbox.append(Answer(ticket, SyncGroupResponse(error_code=code)))
        return
    member = group.members[request.member_id]
    group.pending_syncs.discard(member.member_id)
    if not group.pending_syncs:
        group.sync_deadline_ms = NEVER
    if group.state is State.STABLE:
        group.outbox.append(Answer(ticket, _assigned(group, member)))
        return
    group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    member.sync_ticket = ticket
    # A leader that repeats its sync gets the response to the first one. If a second assignment were written, members
    # would have the first and the log the second. (Kafka writes both.)
    if member.member_id == group.leader_id and group.generation_assigned != group.generation:
        group.generation_assigned = group.generation
        given = {each.member_id: each.assignment for each in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        group.outbox.append(Store(group.record(assignments), AssignmentOf(group.generation, assignments)))


def _check(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    if group.state is State.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    code = group.check_member(request.member_id, request.group_instance_id)
    if code:
        return code
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    # KIP-559: from v5 on members send the protocol that they expect.
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol_name
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is State.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differs(sent: str | None, elected: str | None) -> bool:
    return sent is not None and elected is not None and sent != elected


def assignment_stored(group: ClassicGroup, assignment: AssignmentOf, now: Instant) -> None:
    """The assignment is committed: answer the syncs, unless the group has begun another rebalance."""
    if group.state is not State.COMPLETING_REBALANCE or group.generation != assignment.generation:
        return
    for member in group.members.values():
        member.assignment = assignment.by_member.get(member.member_id, b"")
        if group.answer_sync(member, _assigned(group, member)):
            group.restart_session(member, now)
    group.move(Event.ASSIGNMENT_STORED, now)


def assignment_not_stored(
    group: ClassicGroup, assignment: AssignmentOf, code: ErrorCode, now: Instant
) -> None:
    if group.state is State.COMPLETING_REBALANCE and group.generation == assignment.generation:
        rebalance.refuse_syncs(group, code, now)
        rebalance.prepare(group, now)


def _assigned(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )
