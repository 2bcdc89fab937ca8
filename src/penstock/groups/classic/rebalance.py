"""Moves a classic group from one generation to the next: prepare, collect joins, complete. Handles all timeouts."""

from penstock.groups.base.instant import Instant
from penstock.groups.classic.group import NEVER, ClassicGroup, InitialDelay, refused_join
from penstock.groups.classic.instructions import Store
from penstock.groups.classic.member import Member
from penstock.groups.classic.states import Event, State
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sync_group import SyncGroupResponse


def rebalance_or_complete(group: ClassicGroup, now: Instant) -> None:
    """Begin a rebalance after members changed, or complete the current one if all have joined."""
    if group.can_rebalance:
        prepare(group, now)
    else:
        complete_if_all_joined(group, now)


def prepare(group: ClassicGroup, now: Instant) -> None:
    """Begin a rebalance: heartbeat responses make the members join again."""
    if group.state is State.COMPLETING_REBALANCE:
        refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, now)
    group.pending_syncs.clear()
    group.sync_deadline_ms = NEVER
    is_initial = group.state is State.EMPTY
    group.move(Event.REBALANCE_BEGINS, now)
    if is_initial:
        delay_ms = group.settings.initial_rebalance_delay_ms
        group.has_new_joins = False
        _wait_for_others(group, InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0)), now)
    elif group.has_all_joined:
        complete(group, now)
    else:
        _wait_for_joins(group, now)


def complete_if_all_joined(group: ClassicGroup, now: Instant) -> None:
    if (
        group.state is State.PREPARING_REBALANCE
        and group.initial_delay is None  # the first rebalance lasts for its delay, however many have joined
        and group.has_all_joined
    ):
        complete(group, now)


def complete(group: ClassicGroup, now: Instant) -> None:
    """Remove members that have not joined, and make the others the next generation.

    A static member that has not joined stays until its session times out.
    """
    group.join_deadline_ms = NEVER
    group.initial_delay = None
    missing = [m for m in group.members.values() if m.join_ticket is None and not m.is_static]
    for member in missing:
        group.remove(member.member_id)
    if group.members and not _elect_joined_leader(group):
        _wait_for_joins(
            group, now
        )  # only static members, and none has joined: wait until they join or time out
        return
    group.generation += 1
    group.pending_syncs.clear()
    if not group.members:
        group.protocol_name = None
        group.read_subscriptions()
        group.move(Event.NO_MEMBER_JOINED, now)
        group.outbox.append(Store(group.record()))
        return
    group.protocol_name = group.elect_protocol()
    group.read_subscriptions()
    group.move(Event.MEMBERS_JOINED, now)
    for member in group.members.values():
        group.answer_join(member, group.join_response(member.member_id))
        group.restart_session(member, now)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    group.sync_deadline_ms = now.monotonic_ms + group.rebalance_timeout_ms
    group.wake_by(group.sync_deadline_ms)


def refuse_syncs(group: ClassicGroup, code: ErrorCode, now: Instant) -> None:
    """Refuse parked syncs, because their assignment will not come."""
    for member in group.members.values():
        member.assignment = b""
        if group.answer_sync(member, SyncGroupResponse(error_code=code)):
            group.restart_session(member, now)


def resume(group: ClassicGroup, now: Instant) -> None:
    """Start the session timeouts of a group that was loaded from the log."""
    for member in group.members.values():
        group.restart_session(member, now)
    if len(group.members) > group.settings.size_max:
        prepare(group, now)  # the limit was lowered: the last to join are refused


def end(group: ClassicGroup, code: ErrorCode, now: Instant) -> None:
    """End the group on this broker, and refuse parked requests with this code."""
    if group.state is State.DEAD:
        return
    for member in group.members.values():
        group.answer_join(member, refused_join(member.member_id, code))
        group.answer_sync(member, SyncGroupResponse(error_code=code))
    group.move(Event.GROUP_REMOVED, now)
    group.wake_at_ms = group.join_deadline_ms = group.sync_deadline_ms = NEVER


# -- timeouts -------------------------------------------------------------------------------------------


def expire(group: ClassicGroup, now: Instant) -> None:
    """Handle every deadline that has passed, and find the next."""
    now_ms = now.monotonic_ms
    if group.state is State.DEAD:
        group.wake_at_ms = NEVER
        return
    for member in [
        m for m in group.members.values() if m.deadline_ms is not None and m.deadline_ms <= now_ms
    ]:
        _expire_member(group, member, now)
    for member_id in [each for each, deadline_ms in group.pending_members.items() if deadline_ms <= now_ms]:
        group.remove(member_id)
        complete_if_all_joined(group, now)
    if group.sync_deadline_ms <= now_ms:
        _expire_syncs(group, now)
    if group.join_deadline_ms <= now_ms:
        _expire_joins(group, now)
    group.wake_at_ms = min(
        group.join_deadline_ms,
        group.sync_deadline_ms,
        min(group.pending_members.values(), default=NEVER),
        min((m.deadline_ms for m in group.members.values() if m.deadline_ms is not None), default=NEVER),
    )


def _expire_member(group: ClassicGroup, member: Member, now: Instant) -> None:
    if group.members.get(member.member_id) is not member:
        return  # removed together with another one
    if not member.is_expected:
        member.deadline_ms = None
        return
    remove_member(group, member)
    if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        prepare(group, now)
    else:
        _complete_without_delay(group, now)


def remove_member(group: ClassicGroup, member: Member) -> None:
    """Remove a member. Its parked requests fail, so that a client that is alive joins again."""
    group.answer_join(member, refused_join("", ErrorCode.UNKNOWN_MEMBER_ID))
    group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member.member_id)


def _complete_without_delay(group: ClassicGroup, now: Instant) -> None:
    """Complete when all remaining members have joined, even before the initial delay is over."""
    if group.state is State.PREPARING_REBALANCE and group.has_all_joined:
        complete(group, now)


def _expire_syncs(group: ClassicGroup, now: Instant) -> None:
    group.sync_deadline_ms = NEVER
    if not group.pending_syncs:
        return
    for member_id in list(group.pending_syncs):
        group.remove(member_id)
    prepare(group, now)


def _expire_joins(group: ClassicGroup, now: Instant) -> None:
    group.join_deadline_ms = NEVER
    delay = group.initial_delay
    if delay is not None and group.has_new_joins and delay.remaining_ms:
        group.has_new_joins = False
        next_ms = min(group.settings.initial_rebalance_delay_ms, delay.remaining_ms)
        _wait_for_others(group, InitialDelay(next_ms, max(delay.remaining_ms - delay.delay_ms, 0)), now)
    else:
        complete(group, now)


def _wait_for_others(group: ClassicGroup, delay: InitialDelay, now: Instant) -> None:
    group.initial_delay = delay
    group.join_deadline_ms = now.monotonic_ms + delay.delay_ms
    group.wake_by(group.join_deadline_ms)


def _wait_for_joins(group: ClassicGroup, now: Instant) -> None:
    group.join_deadline_ms = now.monotonic_ms + group.rebalance_timeout_ms
    group.wake_by(group.join_deadline_ms)


def _elect_joined_leader(group: ClassicGroup) -> bool:
    """Keep a leader that joined, else elect the first member that did. Return False when none did."""
    leader = group.members.get(group.leader_id or "")
    if leader is None or leader.join_ticket is None:
        leader = next((m for m in group.members.values() if m.join_ticket is not None), None)
    if leader is None:
        return False
    group.leader_id = leader.member_id
    return True
