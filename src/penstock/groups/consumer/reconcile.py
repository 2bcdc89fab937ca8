"""One step of a member towards its target (KIP-848): give up what is not its own, then take what is free.

Pure. A partition changes hands in this order: its holder is told to give it up, says in a heartbeat that it did, and
only then is it given to its next holder. So at no time do two members hold it.
"""

from collections.abc import Callable

import msgspec

from penstock.groups.consumer.member import Assignment, Holding, Member
from penstock.groups.consumer.states import TRANSITIONS, Finding, MemberState


class Goal(msgspec.Struct, frozen=True):
    """Where a member is to get. What it no longer subscribes to is taken out of `target` beforehand (KIP-1263)."""

    epoch: int
    target: Assignment


def is_reconciled(member: Member, goal: Goal) -> bool:
    return (
        member.state is MemberState.STABLE
        and member.epoch == goal.epoch
        and member.assigned.keys() <= goal.target.keys()
    )


def reconcile(
    member: Member, goal: Goal, reported: Assignment | None, is_free: Callable[[bytes, int], bool]
) -> Member:
    """The member's next version, or itself when it cannot get on.

    `reported` is what it says it holds, None when it says nothing.
    """
    if is_reconciled(member, goal):
        return member
    epoch = member.epoch
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _holds_any(reported, member.revoking):
            return member
        epoch = min(epoch + 1, goal.epoch)
    kept: dict[bytes, dict[int, int]] = {}
    given_up: dict[bytes, dict[int, int]] = {}
    for topic_id, epochs in member.assigned.items():
        target = goal.target.get(topic_id, frozenset())
        for partition, since in epochs.items():
            part = kept if partition in target else given_up
            part.setdefault(topic_id, {})[partition] = since
    if given_up and _holds_any(reported, given_up):
        return _moved(member, Finding.MUST_REVOKE, epoch, kept, given_up)
    must_wait = False
    for topic_id, partitions in goal.target.items():
        held = kept.get(topic_id, {})
        for partition in partitions:
            if partition in held:
                continue
            if is_free(topic_id, partition):
                kept.setdefault(topic_id, {})[partition] = goal.epoch
            else:
                must_wait = True
    return _moved(member, Finding.MUST_WAIT if must_wait else Finding.HAS_ALL, goal.epoch, kept, {})


def _moved(member: Member, finding: Finding, epoch: int, assigned: Holding, revoking: Holding) -> Member:
    state = TRANSITIONS[member.state][finding]
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


def _holds_any(reported: Assignment | None, partitions: Holding) -> bool:
    """Whether it may still hold one of these: who says nothing may."""
    if reported is None:
        return True
    return any(
        not reported.get(topic_id, frozenset()).isdisjoint(each) for topic_id, each in partitions.items()
    )
