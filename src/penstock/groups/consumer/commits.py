"""Which requests about offsets a KIP-848 group accepts."""

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
    """Whether these may commit offsets of these partitions.

    An empty group takes them from anyone without an epoch. So does every group in a transaction, whose producer need
    not say for which member it commits (before KIP-447 none did).
    """
    if epoch < 0 and (not group.members or (is_transactional and not member_id)):
        return ErrorCode.NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch == member.epoch:
        return (
            ErrorCode.UNSUPPORTED_VERSION if member.classic is None and not knows_epochs else ErrorCode.NONE
        )
    if member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    if not knows_epochs:
        return ErrorCode.UNSUPPORTED_VERSION
    if 0 <= epoch < member.epoch and all(_was_given(member, *each) <= epoch for each in partitions):
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH


def _was_given(member: Member, topic_id: bytes, partition: int) -> float:
    """The epoch in which it got a partition that it holds since: from then on its commits count (KIP-1251)."""
    for holding in (member.assigned, member.revoking):
        epoch = holding.get(topic_id, {}).get(partition)
        if epoch is not None:
            return epoch
    return float("inf")


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Whether these may see offsets. Who names no member, as admin clients, may."""
    if not member_id and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch != member.epoch:
        return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE
