"""How a classic group gets from one generation to the next: prepare, collect joins, complete; and all time-outs."""

from penstock.groups.classic.group import NEVER, ClassicGroup, InitialDelay, refused_join
from penstock.groups.classic.instructions import Store
from penstock.groups.classic.member import Member
from penstock.groups.classic.states import Event, State
from penstock.groups.moment import Moment
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sync_group import SyncGroupResponse


def rebalance_or_complete(group: ClassicGroup, moment: Moment) -> None:
    """Members changed: begin a rebalance, or see whether the one that is under way can be completed."""
    if group.can_rebalance:
        prepare(group, moment)
    else:
        complete_if_all_joined(group, moment)


def prepare(group: ClassicGroup, moment: Moment) -> None:
    """Begin a rebalance: members learn of it from their heartbeats and join again."""
    if group.state is State.COMPLETING_REBALANCE:
        refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, moment)
    group.pending_syncs.clear()
    group.sync_deadline_ms = NEVER
    is_initial = group.state is State.EMPTY
    group.move(Event.REBALANCE_BEGINS, moment)
    if is_initial:
        delay_ms = group.settings.initial_rebalance_delay_ms
        group.is_joined_by_others = False
        _wait_for_others(group, InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0)), moment)
    elif group.has_all_joined:
        complete(group, moment)
    else:
        _wait_for_joins(group, moment)


def complete_if_all_joined(group: ClassicGroup, moment: Moment) -> None:
    if (
        group.state is State.PREPARING_REBALANCE
        and group.initial_delay is None  # the first rebalance ends with its delay, however many are there
        and group.has_all_joined
    ):
        complete(group, moment)


def complete(group: ClassicGroup, moment: Moment) -> None:
    """End the collection of joins: who is missing is removed, the others become the next generation.

    A static member that is missing keeps its place until its session ends.
    """
    group.join_deadline_ms = NEVER
    group.initial_delay = None
    missing = [m for m in group.members.values() if m.join_ticket is None and not m.is_static]
    for member in missing:
        group.remove(member.member_id)
    if group.members and not _elect_joined_leader(group):
        _wait_for_joins(
            group, moment
        )  # only static members, none of them here: wait until they come or expire
        return
    group.generation += 1
    group.pending_syncs.clear()
    if not group.members:
        group.protocol_name = None
        group.read_subscriptions()
        group.move(Event.NOBODY_JOINED, moment)
        group.outbox.append(Store(group.record()))
        return
    group.protocol_name = group.elect_protocol()
    group.read_subscriptions()
    group.move(Event.MEMBERS_JOINED, moment)
    for member in group.members.values():
        group.answer_join(member, group.joined(member.member_id))
        group.hear_of(member, moment)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    group.sync_deadline_ms = moment.monotonic_ms + group.rebalance_timeout_ms
    group.wake_by(group.sync_deadline_ms)


def refuse_syncs(group: ClassicGroup, code: ErrorCode, moment: Moment) -> None:
    """The assignment that members wait for will not come."""
    for member in group.members.values():
        member.assignment = b""
        if group.answer_sync(member, SyncGroupResponse(error_code=code)):
            group.hear_of(member, moment)


def resume(group: ClassicGroup, moment: Moment) -> None:
    """The group was read from the log: its members have a whole session to be heard of again."""
    for member in group.members.values():
        group.hear_of(member, moment)
    if len(group.members) > group.settings.size_max:
        prepare(group, moment)  # the limit was lowered: those that join last are turned away


def end(group: ClassicGroup, code: ErrorCode, moment: Moment) -> None:
    """The group is gone from this broker; whoever waits is told why."""
    if group.state is State.DEAD:
        return
    for member in group.members.values():
        group.answer_join(member, refused_join(member.member_id, code))
        group.answer_sync(member, SyncGroupResponse(error_code=code))
    group.move(Event.GROUP_REMOVED, moment)
    group.wake_at_ms = group.join_deadline_ms = group.sync_deadline_ms = NEVER


# -- time -----------------------------------------------------------------------------------------------


def expire(group: ClassicGroup, moment: Moment) -> None:
    """Act on every deadline that has passed, and find the next."""
    now_ms = moment.monotonic_ms
    if group.state is State.DEAD:
        group.wake_at_ms = NEVER
        return
    for member in [
        m for m in group.members.values() if m.deadline_ms is not None and m.deadline_ms <= now_ms
    ]:
        _expire_member(group, member, moment)
    for member_id in [each for each, deadline_ms in group.pending_members.items() if deadline_ms <= now_ms]:
        group.remove(member_id)
        complete_if_all_joined(group, moment)
    if group.sync_deadline_ms <= now_ms:
        _expire_syncs(group, moment)
    if group.join_deadline_ms <= now_ms:
        _expire_joins(group, moment)
    group.wake_at_ms = min(
        group.join_deadline_ms,
        group.sync_deadline_ms,
        min(group.pending_members.values(), default=NEVER),
        min((m.deadline_ms for m in group.members.values() if m.deadline_ms is not None), default=NEVER),
    )


def _expire_member(group: ClassicGroup, member: Member, moment: Moment) -> None:
    if group.members.get(member.member_id) is not member:
        return  # removed together with another one
    if not member.is_expected:
        member.deadline_ms = None
        return
    remove_member(group, member)
    if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        prepare(group, moment)
    else:
        _complete_without_delay(group, moment)


def remove_member(group: ClassicGroup, member: Member) -> None:
    """Remove a member; a join of its that is still parked fails so that a client that lives tries again."""
    group.answer_join(member, refused_join("", ErrorCode.UNKNOWN_MEMBER_ID))
    group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member.member_id)


def _complete_without_delay(group: ClassicGroup, moment: Moment) -> None:
    """Whether or not the initial delay is over: there is no one to wait for when everyone left is here."""
    if group.state is State.PREPARING_REBALANCE and group.has_all_joined:
        complete(group, moment)


def _expire_syncs(group: ClassicGroup, moment: Moment) -> None:
    group.sync_deadline_ms = NEVER
    if not group.pending_syncs:
        return
    for member_id in list(group.pending_syncs):
        group.remove(member_id)
    prepare(group, moment)


def _expire_joins(group: ClassicGroup, moment: Moment) -> None:
    group.join_deadline_ms = NEVER
    delay = group.initial_delay
    if delay is not None and group.is_joined_by_others and delay.remaining_ms:
        group.is_joined_by_others = False
        next_ms = min(group.settings.initial_rebalance_delay_ms, delay.remaining_ms)
        _wait_for_others(group, InitialDelay(next_ms, max(delay.remaining_ms - delay.delay_ms, 0)), moment)
    else:
        complete(group, moment)


def _wait_for_others(group: ClassicGroup, delay: InitialDelay, moment: Moment) -> None:
    group.initial_delay = delay
    group.join_deadline_ms = moment.monotonic_ms + delay.delay_ms
    group.wake_by(group.join_deadline_ms)


def _wait_for_joins(group: ClassicGroup, moment: Moment) -> None:
    group.join_deadline_ms = moment.monotonic_ms + group.rebalance_timeout_ms
    group.wake_by(group.join_deadline_ms)


def _elect_joined_leader(group: ClassicGroup) -> bool:
    """Keep the leader if it joined, else take the first that did; False when nobody did."""
    leader = group.members.get(group.leader_id or "")
    if leader is None or leader.join_ticket is None:
        leader = next((m for m in group.members.values() if m.join_ticket is not None), None)
    if leader is None:
        return False
    group.leader_id = leader.member_id
    return True
