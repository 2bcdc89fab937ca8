"""The simple assignor of share groups (KIP-932): spreads partitions over members, and members over partitions.

Every partition gets a member and every member a partition. With more members than partitions, several members share a
partition. A member keeps its partitions as far as that allows.
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence

from penstock.groups.base.assignment import (
    Assignment,
    MemberSpec,
    TargetAssignments,
    TopicIdPartition,
    assignment_of,
    partitions_in,
)

NAME = "simple"


def assign(members: Collection[MemberSpec], assignable: Assignment) -> TargetAssignments:
    """Return the target of each member; `assignable` are the initialized partitions."""
    ordered = sorted(members, key=lambda each: each.member_id)
    current = {each.member_id: partitions_in(each.current) for each in ordered}
    subscriptions = {each.topic_ids for each in ordered}
    targets: dict[str, set[TopicIdPartition]] = {each.member_id: set() for each in ordered}
    if len(subscriptions) == 1:
        # All members have the same subscription: distributing all topics together balances best.
        parts = [(subscriptions.pop(), ordered)]
    else:
        topics = sorted(frozenset[bytes]().union(*subscriptions))
        parts = [
            (frozenset((topic_id,)), [each for each in ordered if topic_id in each.topic_ids])
            for topic_id in topics
        ]
    for topic_ids, subscribers in parts:
        partitions = sorted(partitions_in({each: assignable.get(each, frozenset()) for each in topic_ids}))
        member_ids = [each.member_id for each in subscribers]
        for member_id, given in _distribute(partitions, member_ids, current).items():
            targets[member_id] |= given
    return {member_id: assignment_of(partitions) for member_id, partitions in targets.items()}


def _distribute(
    partitions: Sequence[TopicIdPartition],
    member_ids: Sequence[str],
    current: Mapping[str, Collection[TopicIdPartition]],
) -> dict[str, set[TopicIdPartition]]:
    if not partitions or not member_ids:
        return {}
    sharing = -(-len(member_ids) // len(partitions))
    shares = dict(zip(member_ids, _shares(sharing * len(partitions), len(member_ids)), strict=True))
    targets, readers = _keep_current(partitions, shares, current, sharing)
    unfilled = [each for each in member_ids if len(targets[each]) < shares[each]]
    for partition in sorted(partitions, key=lambda each: len(readers[each])):
        while len(readers[partition]) < sharing:
            member_id = next((each for each in unfilled if partition not in targets[each]), None)
            if member_id is None:
                break
            targets[member_id].add(partition)
            readers[partition] += (member_id,)
            unfilled.remove(member_id)
            if len(targets[member_id]) < shares[member_id]:
                unfilled.append(member_id)  # after the other members
    return targets


def _shares(total: int, count: int) -> Iterable[int]:
    """Return how many partitions each member gets, as even as possible."""
    edges = [-(-total * index // count) for index in range(count + 1)]
    return [after - before for before, after in itertools.pairwise(edges)]


def _keep_current(
    partitions: Sequence[TopicIdPartition],
    shares: Mapping[str, int],
    current: Mapping[str, Collection[TopicIdPartition]],
    sharing: int,
) -> tuple[dict[str, set[TopicIdPartition]], dict[TopicIdPartition, tuple[str, ...]]]:
    """Let each member keep no more than its share, and each partition no more than `sharing` members."""
    kept: dict[str, set[TopicIdPartition]] = {each: set() for each in shares}
    readers: dict[TopicIdPartition, tuple[str, ...]] = dict.fromkeys(partitions, ())
    for member_id, share in shares.items():
        own = [each for each in current[member_id] if each in readers and len(readers[each]) < sharing]
        # If it has too many, it keeps those that the fewest other members read.
        for partition in sorted(own, key=lambda each: (len(readers[each]), each))[:share]:
            kept[member_id].add(partition)
            readers[partition] += (member_id,)
    return kept, readers
