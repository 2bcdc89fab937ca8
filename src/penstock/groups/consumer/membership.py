"""How members of a KIP-848 group go, for good or for a while, and how static ones come back."""

import msgspec

from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import JOIN_EPOCH, LEAVE_STATIC_EPOCH, Member
from penstock.groups.consumer.situation import Situation
from penstock.groups.consumer.subscription import hash_of_topics
from penstock.groups.recorded_group import NOTHING
from penstock.protocol.errors import ErrorCode


def leaving_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    """Who it is that leaves, or does something else that only that member may do."""
    if instance_id is None:
        member = group.members.get(member_id)
        if member is None:
            raise unknown_member(group, member_id)
        return member
    member = group.static_member(instance_id)
    if member is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise fenced_instance(member, member_id)
    return member


def remove(group: ConsumerGroup, members: list[Member], now: Situation) -> None:
    """Remove members for good; the others get their partitions in the epoch that begins."""
    for member in members:
        group.remove_member(member)
    begin_epoch(group, now)


def begin_epoch(group: ConsumerGroup, now: Situation) -> None:
    group.bump_epoch(hash_of_topics(group.topic_names(), now.image))


def leave_for_a_while(group: ConsumerGroup, member: Member) -> None:
    """A static member goes and will come back: what it has stays its own until its session ends (KIP-345)."""
    away = {"epoch": LEAVE_STATIC_EPOCH, "previous_epoch": LEAVE_STATIC_EPOCH}
    group.put_progress(msgspec.structs.replace(member, **away, revoking={}))
    group.timers.revoked(member.member_id)


def replace_static(group: ConsumerGroup, member: Member, new_member_id: str) -> Member:
    """Give a static member's place to its new self."""
    target = group.target.get(member.member_id, NOTHING)
    group.remove_member(member)
    replaced = msgspec.structs.replace(
        member, member_id=new_member_id, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH
    )
    group.put_member(replaced)
    group.put_target(new_member_id, target)
    group.put_progress(replaced)
    return replaced


def unknown_member(group: ConsumerGroup, member_id: str) -> Refused:
    return Refused(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}."
    )


def fenced_instance(member: Member, member_id: str) -> Refused:
    return Refused(
        ErrorCode.FENCED_INSTANCE_ID,
        f"Static member {member_id} with instance id {member.instance_id} was fenced by member {member.member_id}.",
    )
