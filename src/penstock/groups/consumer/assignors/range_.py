"""The range assignor: of every topic, each subscriber gets consecutive partitions.

Members that subscribe to topics of equal size get the same partition numbers of all of them, so that one member reads
equal keys of all topics. Static members come first, by instance id: a restart under a new member id moves nothing.
"""

from collections.abc import Mapping, Sequence

from penstock.groups.base.assignment import MemberSpec, TargetAssignments


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[bytes, int]) -> TargetAssignments:
    targets: dict[str, dict[bytes, frozenset[int]]] = {m.member_id: {} for m in members}
    subscribers: dict[bytes, list[str]] = {}
    for member in sorted(members, key=_rank):
        for topic_id in member.topic_ids:
            subscribers.setdefault(topic_id, []).append(member.member_id)
    for topic_id, member_ids in subscribers.items():
        size, larger = divmod(partition_counts[topic_id], len(member_ids))
        begin = 0
        for number, member_id in enumerate(member_ids):
            end = begin + size + (number < larger)
            if end > begin:
                targets[member_id][topic_id] = frozenset(range(begin, end))
            begin = end
    return dict(targets)


def _rank(member: MemberSpec) -> tuple[bool, str]:
    return member.instance_id is None, member.instance_id or member.member_id
