"""The uniform assignor, the default: as even as the subscriptions allow, then with as few moves as possible.

When all members subscribe to the same topics, their partition counts differ by one at most. Otherwise no partition can
move to a subscriber of its topic that has at least two partitions fewer.
"""

import heapq
from collections.abc import Mapping, Sequence

from penstock.groups.base.assignment import MemberSpec, TargetAssignments

_Slot = tuple[int, bytes]
"""Partition number and topic id, in this order: sorting assigns a member the same numbers of several topics."""


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]) -> TargetAssignments:
    if not members:
        return {}
    held = _still_valid(members, partition_counts)
    if len({m.topic_ids for m in members}) == 1:
        _share_evenly(held, members[0].topic_ids, partition_counts)
    else:
        _spread(held, members, partition_counts)
    return {member_id: _by_topic(slots) for member_id, slots in held.items()}


def _still_valid(
    members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, list[_Slot]]:
    """Keep current partitions that exist and are subscribed to, each for one member.

    A target that was written in part may assign a partition to two members.
    """
    taken: set[_Slot] = set()
    held = {}
    for member in members:
        slots = {
            (partition, topic_id)
            for topic_id, partitions in member.current.items()
            if topic_id in member.topic_ids
            for partition in partitions
            if partition < partition_counts[topic_id]
        }
        held[member.member_id] = sorted(slots - taken)
        taken |= slots
    return held


def _by_topic(slots: Sequence[_Slot]) -> dict[bytes, frozenset[int]]:
    topics: dict[bytes, list[int]] = {}
    for partition, topic_id in slots:
        topics.setdefault(topic_id, []).append(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in topics.items()}


def _unassigned(
    held: Mapping[str, Sequence[_Slot]], topic_ids: frozenset[bytes], partition_counts: Mapping[bytes, int]
) -> list[_Slot]:
    taken = {slot for slots in held.values() for slot in slots}
    return sorted(
        (partition, topic_id)
        for topic_id in topic_ids
        for partition in range(partition_counts[topic_id])
        if (partition, topic_id) not in taken
    )


def _share_evenly(
    held: dict[str, list[_Slot]], topic_ids: frozenset[bytes], partition_counts: Mapping[bytes, int]
) -> None:
    share, larger = divmod(sum(partition_counts[each] for each in topic_ids), len(held))
    # Members with most partitions get the larger shares, which moves least.
    ranking = sorted(held, key=lambda member_id: (-len(held[member_id]), member_id))
    shares = {member_id: share + (rank < larger) for rank, member_id in enumerate(ranking)}
    for member_id, slots in held.items():
        del slots[shares[member_id] :]
    free = iter(_unassigned(held, topic_ids, partition_counts))
    for member_id in sorted(held):
        slots = held[member_id]
        slots.extend(slot for _, slot in zip(range(shares[member_id] - len(slots)), free, strict=False))


def _spread(
    held: dict[str, list[_Slot]], members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]
) -> None:
    subscribers: dict[bytes, list[str]] = {}
    for member in sorted(members, key=lambda m: m.member_id):
        for topic_id in member.topic_ids:
            subscribers.setdefault(topic_id, []).append(member.member_id)
    # Topics with few subscribers first: members with more topics can still get other partitions.
    topic_ids = sorted(subscribers, key=lambda topic_id: (len(subscribers[topic_id]), topic_id))
    free: dict[bytes, list[_Slot]] = {}
    for slot in _unassigned(held, frozenset(subscribers), partition_counts):
        free.setdefault(slot[1], []).append(slot)
    for topic_id in topic_ids:
        loads = [(len(held[each]), each) for each in subscribers[topic_id]]
        heapq.heapify(loads)
        for slot in free.get(topic_id, ()):
            load, member_id = loads[0]
            held[member_id].append(slot)
            heapq.heapreplace(loads, (load + 1, member_id))
    # This ends, because every move makes the sum of the squared loads smaller.
    while sum(_level(held, topic_id, subscribers[topic_id]) for topic_id in topic_ids):
        pass


def _level(held: dict[str, list[_Slot]], topic_id: bytes, subscribers: Sequence[str]) -> bool:
    """Move partitions of one topic from its most to its least loaded subscribers. Return whether any moved."""
    loads = {each: len(held[each]) for each in subscribers}
    if max(loads.values()) - min(loads.values()) < 2:
        return False
    movable = {each: [slot for slot in held[each] if slot[1] == topic_id] for each in subscribers}
    moved = False
    while True:
        least = min(subscribers, key=lambda each: (loads[each], each))
        donors = [each for each in subscribers if movable[each] and loads[each] >= loads[least] + 2]
        if not donors:
            return moved
        most = max(donors, key=lambda each: (loads[each], each))
        slot = movable[most].pop()
        held[most].remove(slot)
        held[least].append(slot)
        movable[least].append(slot)
        loads[most] -= 1
        loads[least] += 1
        moved = True
