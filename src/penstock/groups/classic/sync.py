"""SyncGroup to a classic group: the leader brings the assignment, every member gets its part once it is committed."""

from penstock.groups.classic import rebalance
from penstock.groups.classic.group import NEVER, ClassicGroup
from penstock.groups.classic.instructions import Answer, AssignmentOf, Store
from penstock.groups.classic.member import Member
from penstock.groups.classic.states import Event, State
from penstock.groups.moment import Moment
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
    # A leader that asks again gets the answer to its first request: were another assignment written behind it, members
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
    # KIP-559: from v5 on members say what they believe the group agreed on.
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol_name
    ):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is State.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _differs(said: str | None, agreed: str | None) -> bool:
    return said is not None and agreed is not None and said != agreed


def assignment_stored(group: ClassicGroup, assignment: AssignmentOf, moment: Moment) -> None:
    """The assignment is committed; it counts unless the group has begun to rebalance meanwhile."""
    if group.state is not State.COMPLETING_REBALANCE or group.generation != assignment.generation:
        return
    for member in group.members.values():
        member.assignment = assignment.by_member.get(member.member_id, b"")
        if group.answer_sync(member, _assigned(group, member)):
            group.hear_of(member, moment)
    group.move(Event.ASSIGNMENT_STORED, moment)


def assignment_not_stored(
    group: ClassicGroup, assignment: AssignmentOf, code: ErrorCode, moment: Moment
) -> None:
    if group.state is State.COMPLETING_REBALANCE and group.generation == assignment.generation:
        rebalance.refuse_syncs(group, code, moment)
        rebalance.prepare(group, moment)


def _assigned(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )
