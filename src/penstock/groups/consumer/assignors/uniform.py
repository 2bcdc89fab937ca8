"""The uniform assignor, the default: as even as the subscriptions allow, and then as few moves as possible.

When all members read the same topics, loads differ by one partition at most. When they do not, no partition can be
moved to another of its topic's readers that has at least two fewer.
"""

import heapq
from collections.abc import Mapping, Sequence

from penstock.groups.consumer.assignors.spec import MemberSpec, TargetAssignments

_Place = tuple[int, bytes]
"""Partition before topic: the parts of several topics that a member gets or keeps are of the same numbers."""


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]) -> TargetAssignments:
    if not members:
        return {}
    held = _still_valid(members, partition_counts)
    if len({m.topic_ids for m in members}) == 1:
        _share_evenly(held, members[0].topic_ids, partition_counts)
    else:
        _spread(held, members, partition_counts)
    return {member_id: _by_topic(places) for member_id, places in held.items()}


def _still_valid(
    members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, list[_Place]]:
    """What each has now, reads, and exists; nothing twice, though a target half written may give it to two."""
    taken: set[_Place] = set()
    held = {}
    for member in members:
        places = {
            (partition, topic_id)
            for topic_id, partitions in member.current.items()
            if topic_id in member.topic_ids
            for partition in partitions
            if partition < partition_counts[topic_id]
        }
        held[member.member_id] = sorted(places - taken)
        taken |= places
    return held


def _by_topic(places: Sequence[_Place]) -> dict[bytes, frozenset[int]]:
    topics: dict[bytes, list[int]] = {}
    for partition, topic_id in places:
        topics.setdefault(topic_id, []).append(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in topics.items()}


def _unheld(
    held: Mapping[str, Sequence[_Place]], topic_ids: frozenset[bytes], partition_counts: Mapping[bytes, int]
) -> list[_Place]:
    taken = {place for places in held.values() for place in places}
    return sorted(
        (partition, topic_id)
        for topic_id in topic_ids
        for partition in range(partition_counts[topic_id])
        if (partition, topic_id) not in taken
    )


def _share_evenly(
    held: dict[str, list[_Place]], topic_ids: frozenset[bytes], partition_counts: Mapping[bytes, int]
) -> None:
    share, larger = divmod(sum(partition_counts[each] for each in topic_ids), len(held))
    # The larger shares go to those who have most: that moves least.
    ranking = sorted(held, key=lambda member_id: (-len(held[member_id]), member_id))
    shares = {member_id: share + (rank < larger) for rank, member_id in enumerate(ranking)}
    for member_id, places in held.items():
        del places[shares[member_id] :]
    free = iter(_unheld(held, topic_ids, partition_counts))
    for member_id in sorted(held):
        places = held[member_id]
        places.extend(place for _, place in zip(range(shares[member_id] - len(places)), free, strict=False))


def _spread(
    held: dict[str, list[_Place]], members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]
) -> None:
    readers: dict[bytes, list[str]] = {}
    for member in sorted(members, key=lambda m: m.member_id):
        for topic_id in member.topic_ids:
            readers.setdefault(topic_id, []).append(member.member_id)
    # Topics with few readers first: whoever reads more can still be given something else.
    topic_ids = sorted(readers, key=lambda topic_id: (len(readers[topic_id]), topic_id))
    free: dict[bytes, list[_Place]] = {}
    for place in _unheld(held, frozenset(readers), partition_counts):
        free.setdefault(place[1], []).append(place)
    for topic_id in topic_ids:
        loads = [(len(held[each]), each) for each in readers[topic_id]]
        heapq.heapify(loads)
        for place in free.get(topic_id, ()):
            load, member_id = loads[0]
            held[member_id].append(place)
            heapq.heapreplace(loads, (load + 1, member_id))
    # Ends: every move makes the sum of the squared loads smaller.
    while sum(_level(held, topic_id, readers[topic_id]) for topic_id in topic_ids):
        pass


def _level(held: dict[str, list[_Place]], topic_id: bytes, readers: Sequence[str]) -> bool:
    """Move partitions of one topic from the most to the least loaded of its readers; whether any was moved."""
    loads = {each: len(held[each]) for each in readers}
    if max(loads.values()) - min(loads.values()) < 2:
        return False
    movable = {each: [place for place in held[each] if place[1] == topic_id] for each in readers}
    moved = False
    while True:
        least = min(readers, key=lambda each: (loads[each], each))
        givers = [each for each in readers if movable[each] and loads[each] >= loads[least] + 2]
        if not givers:
            return moved
        most = max(givers, key=lambda each: (loads[each], each))
        place = movable[most].pop()
        held[most].remove(place)
        held[least].append(place)
        movable[least].append(place)
        loads[most] -= 1
        loads[least] += 1
        moved = True
