"""The simple assignor of share groups (KIP-932): spreads partitions over members, and members over partitions.

Every partition gets a member and every member a partition. With more members than partitions they share them: each
partition gets as many members as it takes to keep everyone busy. What a member has it keeps as far as that allows.
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from penstock.groups.consumer.assignors.spec import MemberSpec, TargetAssignments
from penstock.groups.consumer.member import Assignment
from penstock.groups.share.partition_sets import Place, assignment_of, places_of

NAME = "simple"


def assign(members: Collection[MemberSpec], assignable: Assignment) -> TargetAssignments:
    """The target of each member; `assignable` has the partitions whose state is there."""
    ordered = sorted(members, key=lambda each: each.member_id)
    current = {each.member_id: places_of(each.current) for each in ordered}
    subscriptions = {each.topic_ids for each in ordered}
    made: dict[str, set[Place]] = {each.member_id: set() for each in ordered}
    if len(subscriptions) == 1:
        # All read the same: partitions of all topics are dealt out together, which balances best.
        parts = [(subscriptions.pop(), ordered)]
    else:
        topics = sorted(frozenset[bytes]().union(*subscriptions))
        parts = [
            (frozenset((topic_id,)), [each for each in ordered if topic_id in each.topic_ids])
            for topic_id in topics
        ]
    for topic_ids, readers in parts:
        places = sorted(places_of({each: assignable.get(each, frozenset()) for each in topic_ids}))
        for member_id, given in _deal(places, [each.member_id for each in readers], current).items():
            made[member_id] |= given
    return {member_id: assignment_of(places) for member_id, places in made.items()}


def _deal(
    places: Sequence[Place], member_ids: Sequence[str], current: Mapping[str, Collection[Place]]
) -> dict[str, set[Place]]:
    """Deal these partitions out to these members."""
    if not places or not member_ids:
        return {}
    sharing = -(-len(member_ids) // len(places))
    shares = dict(zip(member_ids, _shares(sharing * len(places), len(member_ids)), strict=True))
    held, readers = _kept(places, shares, current, sharing)
    unfilled = [each for each in member_ids if len(held[each]) < shares[each]]
    for place in sorted(places, key=lambda each: len(readers[each])):
        while len(readers[place]) < sharing:
            member_id = next((each for each in unfilled if place not in held[each]), None)
            if member_id is None:
                break
            held[member_id].add(place)
            readers[place] += (member_id,)
            unfilled.remove(member_id)
            if len(held[member_id]) < shares[member_id]:
                unfilled.append(member_id)  # the others first
    return held


def _shares(total: int, count: int) -> Iterable[int]:
    """How many partitions each member gets, as even as may be."""
    edges = [-(-total * index // count) for index in range(count + 1)]
    return [after - before for before, after in itertools.pairwise(edges)]


def _kept(
    places: Sequence[Place],
    shares: Mapping[str, int],
    current: Mapping[str, Collection[Place]],
    sharing: int,
) -> tuple[dict[str, set[Place]], dict[Place, tuple[str, ...]]]:
    """What members keep: no more than their share, and of no partition more members than are to share it."""
    held: dict[str, set[Place]] = {each: set() for each in shares}
    readers: dict[Place, tuple[str, ...]] = dict.fromkeys(places, ())
    for member_id, share in shares.items():
        mine = [each for each in current[member_id] if each in readers and len(readers[each]) < sharing]
        # Of too many it keeps those that few others read.
        for place in sorted(mine, key=lambda each: (len(readers[each]), each))[:share]:
            held[member_id].add(place)
            readers[place] += (member_id,)
    return held, readers
