"""Checks offset commits and fetches of a KIP-848 group."""

from collections.abc import Iterable

from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import Member
from penstock.protocol.errors import ErrorCode


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    epoch: int,
    partitions: Iterable[tuple[bytes, int]],
    *,
    knows_epochs: bool,
    is_transactional: bool = False,
) -> ErrorCode:
    """Check whether this member may commit offsets of these partitions.

    Anyone without an epoch may commit to an empty group. So may a transactional producer to any group, because it need
    not name its member (before KIP-447 none did).
    """
    if epoch < 0 and (not group.members or (is_transactional and not member_id)):
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.classic is not None:
        return ErrorCode.NONE if epoch == member.epoch else ErrorCode.ILLEGAL_GENERATION
    if not knows_epochs:
        return ErrorCode.UNSUPPORTED_VERSION
    if epoch == member.epoch:
        return ErrorCode.NONE
    if 0 <= epoch < member.epoch and all(_assignment_epoch(member, *each) <= epoch for each in partitions):
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH


def _assignment_epoch(member: Member, topic_id: bytes, partition: int) -> float:
    """Return the epoch in which the member got a partition that it still holds (KIP-1251)."""
    for holding in (member.assigned, member.revoking):
        epoch = holding.get(topic_id, {}).get(partition)
        if epoch is not None:
            return epoch
    return float("inf")


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Check whether this member may read offsets. A client that names no member, such as an admin client, may."""
    if not member_id and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch != member.epoch:
        return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE
