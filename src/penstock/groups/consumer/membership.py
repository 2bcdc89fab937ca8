"""Members of a KIP-848 group leave, for good or temporarily, and static members return."""

import msgspec

from penstock.groups.base.assignment import NOTHING
from penstock.groups.base.context import ConsumerContext
from penstock.groups.base.errors import GroupError, unknown_member
from penstock.groups.base.member import JOIN_EPOCH
from penstock.groups.base.timers import Awaited
from penstock.groups.base.topics import hash_topics
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import LEAVE_STATIC_EPOCH, Member
from penstock.protocol.errors import ErrorCode


def authenticated_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    """Return the member with these ids. Raises `GroupError` when another client owns one of them."""
    if instance_id is None:
        member = group.members.get(member_id)
        if member is None:
            raise unknown_member(group.group_id, member_id)
        return member
    member = group.static_member(instance_id)
    if member is None:
        raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise fenced_instance(member, member_id)
    return member


def remove(group: ConsumerGroup, members: list[Member], ctx: ConsumerContext) -> None:
    """Remove members for good. The others get their partitions in the next epoch."""
    for member in members:
        group.remove_member(member)
    begin_epoch(group, ctx)


def begin_epoch(group: ConsumerGroup, ctx: ConsumerContext) -> None:
    group.bump_epoch(hash_topics(group.topic_names(), ctx.image))


def leave_temporarily(group: ConsumerGroup, member: Member) -> None:
    """A static member leaves and will return: it keeps its partitions until its session times out (KIP-345)."""
    away = {"epoch": LEAVE_STATIC_EPOCH, "previous_epoch": LEAVE_STATIC_EPOCH}
    group.put_progress(msgspec.structs.replace(member, **away, revoking={}))
    group.timers.stop(member.member_id, Awaited.REVOCATION)


def replace_static(group: ConsumerGroup, member: Member, new_member_id: str) -> Member:
    """Give the partitions of a static member to its new member id."""
    target = group.target.get(member.member_id, NOTHING)
    group.remove_member(member)
    replaced = msgspec.structs.replace(
        member, member_id=new_member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH
    )
    group.put_member(replaced)
    group.put_target(new_member_id, target)
    group.put_progress(replaced)
    return replaced


def fenced_instance(member: Member, member_id: str) -> GroupError:
    return GroupError(
        ErrorCode.FENCED_INSTANCE_ID,
        f"Static member {member_id} with instance id {member.instance_id} was fenced by member {member.member_id}.",
    )
