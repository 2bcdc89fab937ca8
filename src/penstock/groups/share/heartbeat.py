"""ShareGroupHeartbeat to a share group: join, stay, leave.

Pure. Whatever can be refused is refused before anything is changed. Partitions that nobody of the group has read yet
are first made known to the share coordinator: `heartbeat` says which, and members get them once that is done.
"""

import msgspec

from penstock.groups.consumer.assignors.spec import MemberSpec
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.heartbeat import Client
from penstock.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, Assignment
from penstock.groups.consumer.subscription import hash_of_topics
from penstock.groups.consumer.targets import has_stood_long_enough
from penstock.groups.recorded_group import NOTHING
from penstock.groups.share import assignor
from penstock.groups.share.group import ShareGroup
from penstock.groups.share.member import ShareMember
from penstock.groups.share.partition_sets import united, without
from penstock.groups.share.situation import ShareSituation
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.share_group_heartbeat import Assignment as ToldAssignment
from penstock.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

_MEMBER_ID_CHARACTERS_MAX = 36  # as many as a UUID has


def may_be_member_id(member_id: str) -> bool:
    return 0 < len(member_id) <= _MEMBER_ID_CHARACTERS_MAX


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Refuse what does not depend on the group."""
    _require(bool(request.member_id.strip()), "MemberId can't be empty.")
    _require(bool(request.group_id.strip()), "GroupId can't be empty.")
    _require(request.rack_id is None or bool(request.rack_id.strip()), "RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        _require(bool(request.subscribed_topic_names), "SubscribedTopicNames must be set in first request.")
    _require(request.member_epoch >= LEAVE_EPOCH, "MemberEpoch is invalid.")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Refused(ErrorCode.INVALID_REQUEST, message)


def heartbeat(
    group: ShareGroup, request: ShareGroupHeartbeatRequest, client: Client, now: ShareSituation
) -> ShareGroupHeartbeatResponse:
    """A member reports, or somebody joins; `request` was checked."""
    _check_room(group, request.member_id, now.settings.size_max)
    before = _find(group, request)
    member = _updated(before or ShareMember(member_id=request.member_id), request, client)
    is_changed = _subscribe(group, before, member, now)
    if _is_target_due(group, now):
        make_target(group, now)
    member = _reconcile(group, group.members[member.member_id], now, must_filter=is_changed)
    group.timers.expect(member.member_id, now.moment, now.settings.session_timeout_ms)
    is_told = (
        request.subscribed_topic_names is not None
        or before is None
        or before.assigned != member.assigned
        or request.member_epoch != before.epoch  # it has missed an answer
    )
    return ShareGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=now.settings.heartbeat_interval_ms,
        assignment=_told(member) if is_told else None,
    )


def leave(group: ShareGroup, member_id: str, now: ShareSituation) -> ShareGroupHeartbeatResponse:
    member = group.members.get(member_id)
    if member is None:
        raise _unknown_member(group, member_id)
    remove(group, [member], now)
    return ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=LEAVE_EPOCH)


def remove(group: ShareGroup, members: list[ShareMember], now: ShareSituation) -> None:
    """Remove members; the others get their partitions in the epoch that begins."""
    for member in members:
        group.remove_member(member)
    group.bump_epoch(hash_of_topics(group.topic_names(), now.image))


def uninitialized(group: ShareGroup, now: ShareSituation) -> Assignment:
    """What the group reads and the share coordinator neither has nor is being asked for."""
    read = {
        topic.topic_id: frozenset(topic.partitions)
        for name in group.topic_names()
        if (topic := now.image.topics.get(name)) is not None
    }
    return without(without(read, group.ledger.initialized), group.in_flight)


# -- who reports ------------------------------------------------------------------------------------------


def _check_room(group: ShareGroup, member_id: str, size_max: int) -> None:
    if len(group.members) >= size_max and member_id not in group.members:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The share group has reached its maximum capacity of {size_max} members.",
        )


def _find(group: ShareGroup, request: ShareGroupHeartbeatRequest) -> ShareMember | None:
    """The member that reports, None for a new one."""
    member = group.members.get(request.member_id)
    if request.member_epoch == JOIN_EPOCH:
        return member
    if member is None:
        raise _unknown_member(group, request.member_id)
    if request.member_epoch not in (member.epoch, member.previous_epoch):
        raise _fenced(member, request.member_epoch)
    return member


def _fenced(member: ShareMember, epoch: int) -> Refused:
    is_ahead = epoch > member.epoch
    rest = "" if is_ahead else f", and it does not match the previous member epoch ({member.previous_epoch})"
    return Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The share group member has a {'greater' if is_ahead else 'smaller'} member epoch ({epoch}) than the one "
        f"known by the group coordinator ({member.epoch}){rest}. The member must abandon all its partitions and "
        "rejoin.",
    )


def _unknown_member(group: ShareGroup, member_id: str) -> Refused:
    return Refused(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}."
    )


def _updated(member: ShareMember, request: ShareGroupHeartbeatRequest, client: Client) -> ShareMember:
    """The member with what the request says anew: what has not changed is left out of it."""
    names = request.subscribed_topic_names
    return msgspec.structs.replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        topic_names=member.topic_names if names is None else frozenset(names),
        client_id=client.client_id,
        client_host=client.client_host,
    )


# -- what it reads ----------------------------------------------------------------------------------------


def _subscribe(
    group: ShareGroup, before: ShareMember | None, member: ShareMember, now: ShareSituation
) -> bool:
    """Take in what a member says of itself. Says whether that began a new epoch."""
    must_bump = before is None or before.topic_names != member.topic_names
    if before is None or before != member:
        group.put_member(member)
    if group.assignment_epoch >= group.epoch:
        must_bump |= _has_new_partitions(group, now)
    if not must_bump and not group.must_refresh:
        return False
    group.must_refresh = False
    metadata_hash = hash_of_topics(group.topic_names(), now.image)
    if not must_bump and metadata_hash == group.metadata_hash:
        return False
    group.bump_epoch(metadata_hash)
    return True


def _has_new_partitions(group: ShareGroup, now: ShareSituation) -> bool:
    """Whether partitions that the group reads were initialized since the target was made."""
    if group.ledger is group.assigned_ledger:
        return False
    assigned: Assignment = {}
    for each in group.target.values():
        assigned = united(assigned, each)
    has_new = any(
        assigned.get(topic_id) != partitions
        for topic_id, partitions in group.ledger.initialized.items()
        if (topic := now.image.topics_by_id.get(topic_id)) is not None and group.is_subscribed_to(topic.name)
    )
    if not has_new:
        group.assigned_ledger = group.ledger
    return has_new


# -- what it gets -----------------------------------------------------------------------------------------


def _is_target_due(group: ShareGroup, now: ShareSituation) -> bool:
    if group.epoch <= group.assignment_epoch:
        return False
    return not any(group.target.values()) or has_stood_long_enough(
        group.assigned_at_ms, now.moment, now.settings.assignment_interval_ms
    )


def make_target(group: ShareGroup, now: ShareSituation) -> None:
    """Make the target for the group's epoch; only what changes is written."""
    specs = [
        MemberSpec(
            member_id=member.member_id,
            instance_id=None,
            topic_ids=now.topic_ids(member.topic_names),
            current=group.target.get(member.member_id, NOTHING),
        )
        for member in group.members.values()
    ]
    for member_id, target in assignor.assign(specs, group.ledger.initialized).items():
        if group.target.get(member_id) != target:
            group.put_target(member_id, target)
    group.put_assignment_epoch(group.epoch, now.moment)


def _reconcile(
    group: ShareGroup, member: ShareMember, now: ShareSituation, *, must_filter: bool
) -> ShareMember:
    """Give a member what the target has for it. Nobody has to let go of anything first."""
    if member.epoch == group.assignment_epoch and not must_filter:
        return member
    moved = msgspec.structs.replace(
        member, assigned=group.target_of(member, now.topic_ids(member.topic_names))
    )
    if member.epoch != group.assignment_epoch:
        moved = msgspec.structs.replace(moved, epoch=group.assignment_epoch, previous_epoch=member.epoch)
    if moved != member:
        group.put_progress(moved)
    return moved


def _told(member: ShareMember) -> ToldAssignment:
    return ToldAssignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(member.assigned.items())
        ]
    )
