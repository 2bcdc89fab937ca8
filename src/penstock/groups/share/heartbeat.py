"""ShareGroupHeartbeat to a share group: join, stay, leave.

No I/O. Everything that can be rejected is rejected before anything changes. The share coordinator must first initialize
partitions that the group has not read yet: `uninitialized` returns them, and members get them afterwards.
"""

import msgspec

from penstock.groups.base.assignment import NOTHING, Assignment, MemberSpec, difference, topic_messages, union
from penstock.groups.base.context import ShareContext
from penstock.groups.base.errors import fenced_member, group_full, require, unknown_member
from penstock.groups.base.member import JOIN_EPOCH, LEAVE_EPOCH, Client
from penstock.groups.base.timers import Awaited
from penstock.groups.base.topics import hash_topics
from penstock.groups.share import assignor
from penstock.groups.share.group import ShareGroup
from penstock.groups.share.member import ShareMember
from penstock.protocol.messages import share_group_heartbeat as wire

_MEMBER_ID_LENGTH_MAX = 36  # the length of a UUID, which clients generate (KIP-1082)


def is_valid_member_id(member_id: str | None) -> bool:
    return member_id is not None and 0 < len(member_id) <= _MEMBER_ID_LENGTH_MAX


def check_request(request: wire.ShareGroupHeartbeatRequest) -> None:
    """Reject a request that no group would accept."""
    require(bool(request.member_id.strip()), "MemberId can't be empty.")
    require(bool(request.group_id.strip()), "GroupId can't be empty.")
    require(request.rack_id is None or bool(request.rack_id.strip()), "RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        require(bool(request.subscribed_topic_names), "SubscribedTopicNames must be set in first request.")
    require(request.member_epoch >= LEAVE_EPOCH, "MemberEpoch is invalid.")


def heartbeat(
    group: ShareGroup, request: wire.ShareGroupHeartbeatRequest, client: Client, ctx: ShareContext
) -> wire.ShareGroupHeartbeatResponse:
    """Handle the heartbeat or the join of a member. `request` has passed `check_request`."""
    if len(group.members) >= ctx.settings.size_max and request.member_id not in group.members:
        raise group_full("share", ctx.settings.size_max)
    before = _find(group, request)
    member = _update(before or ShareMember(member_id=request.member_id), request, client)
    is_changed = _subscribe(group, before, member, ctx)
    if group.is_target_due(ctx.now, ctx.settings.assignment_interval_ms):
        make_target(group, ctx)
    member = _reconcile(group, group.members[member.member_id], ctx, must_filter=is_changed)
    group.timers.start(member.member_id, Awaited.HEARTBEAT, ctx.now, ctx.settings.session_timeout_ms)
    has_assignment = (
        request.subscribed_topic_names is not None
        or before is None
        or before.assigned != member.assigned
        or request.member_epoch != before.epoch  # it has missed a response
    )
    assignment = None
    if has_assignment:
        topics = topic_messages(member.assigned, wire.TopicPartitions)
        assignment = wire.Assignment(topic_partitions=topics)
    return wire.ShareGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=ctx.settings.heartbeat_interval_ms,
        assignment=assignment,
    )


def leave(group: ShareGroup, member_id: str, ctx: ShareContext) -> wire.ShareGroupHeartbeatResponse:
    member = group.members.get(member_id)
    if member is None:
        raise unknown_member(group.group_id, member_id)
    remove(group, [member], ctx)
    return wire.ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=LEAVE_EPOCH)


def remove(group: ShareGroup, members: list[ShareMember], ctx: ShareContext) -> None:
    """Remove members. The others get their partitions in the next epoch."""
    for member in members:
        group.remove_member(member)
    group.bump_epoch(hash_topics(group.topic_names(), ctx.image))


def uninitialized(group: ShareGroup, ctx: ShareContext) -> Assignment:
    """Return the subscribed partitions that the share coordinator neither has nor is initializing."""
    subscribed = {
        topic.topic_id: frozenset(topic.partitions)
        for name in group.topic_names()
        if (topic := ctx.image.topics.get(name)) is not None
    }
    return difference(difference(subscribed, group.state_partitions.initialized), group.in_flight)


# -- the member -------------------------------------------------------------------------------------------


def _find(group: ShareGroup, request: wire.ShareGroupHeartbeatRequest) -> ShareMember | None:
    """Return the member, None for a new one."""
    member = group.members.get(request.member_id)
    if request.member_epoch == JOIN_EPOCH:
        return member
    if member is None:
        raise unknown_member(group.group_id, request.member_id)
    epoch = request.member_epoch
    if epoch not in (member.epoch, member.previous_epoch):
        detail = f", and it does not match the previous member epoch ({member.previous_epoch})"
        raise fenced_member("share", epoch, member.epoch, "" if epoch > member.epoch else detail)
    return member


def _update(member: ShareMember, request: wire.ShareGroupHeartbeatRequest, client: Client) -> ShareMember:
    """Return the member with the fields that the request contains: clients leave out unchanged ones."""
    names = request.subscribed_topic_names
    return msgspec.structs.replace(
        member,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        topic_names=member.topic_names if names is None else frozenset(names),
        client_id=client.client_id,
        client_host=client.client_host,
    )


# -- the subscription -------------------------------------------------------------------------------------


def _subscribe(group: ShareGroup, before: ShareMember | None, member: ShareMember, ctx: ShareContext) -> bool:
    """Record a new or changed member. Return whether that began a new epoch."""
    must_bump = before is None or before.topic_names != member.topic_names
    if before is None or before != member:
        group.put_member(member)
    if group.assignment_epoch >= group.epoch:
        must_bump |= _has_new_partitions(group, ctx)
    if not must_bump and not group.must_refresh:
        return False
    group.must_refresh = False
    metadata_hash = hash_topics(group.topic_names(), ctx.image)
    if not must_bump and metadata_hash == group.metadata_hash:
        return False
    group.bump_epoch(metadata_hash)
    return True


def _has_new_partitions(group: ShareGroup, ctx: ShareContext) -> bool:
    """Whether subscribed partitions were initialized since the target was made."""
    if group.state_partitions is group.assigned_state_partitions:
        return False
    assigned: Assignment = {}
    for each in group.target.values():
        assigned = union(assigned, each)
    has_new = any(
        assigned.get(topic_id) != partitions
        for topic_id, partitions in group.state_partitions.initialized.items()
        if (topic := ctx.image.topics_by_id.get(topic_id)) is not None and group.is_subscribed_to(topic.name)
    )
    if not has_new:
        group.assigned_state_partitions = group.state_partitions
    return has_new


# -- the assignment ---------------------------------------------------------------------------------------


def make_target(group: ShareGroup, ctx: ShareContext) -> None:
    """Make the target assignment for the group's epoch."""
    specs = [
        MemberSpec(
            member_id=member.member_id,
            instance_id=None,
            topic_ids=ctx.topic_ids(member.topic_names),
            current=group.target.get(member.member_id, NOTHING),
        )
        for member in group.members.values()
    ]
    group.put_targets(assignor.assign(specs, group.state_partitions.initialized), ctx.now)


def _reconcile(
    group: ShareGroup, member: ShareMember, ctx: ShareContext, *, must_filter: bool
) -> ShareMember:
    """Give a member its target at once: partitions are not revoked from others first."""
    if member.epoch == group.assignment_epoch and not must_filter:
        return member
    moved = msgspec.structs.replace(
        member, assigned=group.target_of(member, ctx.topic_ids(member.topic_names))
    )
    if member.epoch != group.assignment_epoch:
        moved = msgspec.structs.replace(moved, epoch=group.assignment_epoch, previous_epoch=member.epoch)
    if moved != member:
        group.put_progress(moved)
    return moved
