"""The range assignor: of every topic, each subscriber gets a run of neighbouring partitions.

Members that read topics of equal size get the same numbers of all of them, so that what is keyed alike is read
together. Static members come first, by instance id: a restart under a new member id moves nothing.
"""

from collections.abc import Mapping, Sequence

from penstock.groups.consumer.assignors.spec import MemberSpec, TargetAssignments


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]) -> TargetAssignments:
    made: dict[str, dict[bytes, frozenset[int]]] = {m.member_id: {} for m in members}
    subscribers: dict[bytes, list[str]] = {}
    for member in sorted(members, key=_place):
        for topic_id in member.topic_ids:
            subscribers.setdefault(topic_id, []).append(member.member_id)
    for topic_id, member_ids in subscribers.items():
        size, larger = divmod(partition_counts[topic_id], len(member_ids))
        begin = 0
        for number, member_id in enumerate(member_ids):
            end = begin + size + (number < larger)
            if end > begin:
                made[member_id][topic_id] = frozenset(range(begin, end))
            begin = end
    return dict(made)


def _place(member: MemberSpec) -> tuple[bool, str]:
    return member.instance_id is None, member.instance_id or member.member_id
