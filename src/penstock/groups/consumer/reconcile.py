"""One step of a member towards its target (KIP-848): revoke partitions of other members, then take the free ones.

No I/O. A partition moves in this order: its owner receives an assignment without it, confirms the revocation in a
heartbeat, and only then does the next owner get it. So two members never own a partition at the same time.
"""

from collections.abc import Callable

import msgspec

from penstock.groups.base.assignment import Assignment
from penstock.groups.consumer.member import Holding, Member
from penstock.groups.consumer.states import TRANSITIONS, MemberState, ReconcileOutcome


class TargetAssignment(msgspec.Struct, frozen=True):
    """The target of a member, without topics that it no longer subscribes to (KIP-1263)."""

    epoch: int
    partitions: Assignment


def is_reconciled(member: Member, target: TargetAssignment) -> bool:
    return (
        member.state is MemberState.STABLE
        and member.epoch == target.epoch
        and member.assigned.keys() <= target.partitions.keys()
    )


def reconcile(
    member: Member, target: TargetAssignment, owned: Assignment | None, is_free: Callable[[bytes, int], bool]
) -> Member:
    """Return the member's next version, or the member itself when it cannot make progress.

    `owned` are the partitions that it reports to own, None when it reports nothing.
    """
    if is_reconciled(member, target):
        return member
    epoch = member.epoch
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _may_own_any(owned, member.revoking):
            return member
        epoch = min(epoch + 1, target.epoch)
    kept: dict[bytes, dict[int, int]] = {}
    revoked: dict[bytes, dict[int, int]] = {}
    for topic_id, epochs in member.assigned.items():
        wanted = target.partitions.get(topic_id, frozenset())
        for partition, since in epochs.items():
            part = kept if partition in wanted else revoked
            part.setdefault(topic_id, {})[partition] = since
    if revoked and _may_own_any(owned, revoked):
        return _move(member, ReconcileOutcome.MUST_REVOKE, epoch, kept, revoked)
    must_wait = False
    for topic_id, partitions in target.partitions.items():
        for partition in partitions.difference(kept.get(topic_id, ())):
            if is_free(topic_id, partition):
                kept.setdefault(topic_id, {})[partition] = target.epoch
            else:
                must_wait = True
    return _move(
        member, ReconcileOutcome.MUST_WAIT if must_wait else ReconcileOutcome.HAS_ALL, target.epoch, kept, {}
    )


def _move(
    member: Member, outcome: ReconcileOutcome, epoch: int, assigned: Holding, revoking: Holding
) -> Member:
    state = TRANSITIONS[member.state][outcome]
    if (state, epoch, assigned, revoking) == (member.state, member.epoch, member.assigned, member.revoking):
        return member
    return msgspec.structs.replace(
        member,
        epoch=epoch,
        previous_epoch=member.epoch,
        state=state,
        assigned=assigned,
        revoking=revoking,
    )


def _may_own_any(owned: Assignment | None, partitions: Holding) -> bool:
    """Whether the member may still own one of these. A member that reports nothing may."""
    if owned is None:
        return True
    return any(not owned.get(topic_id, frozenset()).isdisjoint(each) for topic_id, each in partitions.items())
