"""When a KIP-848 group makes a new target assignment, and how."""

from collections import Counter

from penstock.groups.consumer.assignors import ASSIGNORS
from penstock.groups.consumer.assignors.spec import MemberSpec
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.situation import ConsumerSettings, Situation
from penstock.groups.moment import Moment
from penstock.groups.recorded_group import NOTHING


def is_due(group: ConsumerGroup, now: Situation) -> bool:
    """Whether a new target is wanted, and the last one stood long enough (KIP-1263).

    A target that gives nobody anything is not worth waiting for: a lone consumer that restarts gets its partitions at
    once.
    """
    if group.epoch <= group.assignment_epoch:
        return False
    return not any(group.target.values()) or has_stood_long_enough(
        group.assigned_at_ms, now.moment, now.settings.assignment_interval_ms
    )


def has_stood_long_enough(assigned_at_ms: int, moment: Moment, interval_ms: int) -> bool:
    """Also when the clock was set back: nobody waits for it to catch up."""
    return not 0 <= moment.wall_ms - assigned_at_ms < interval_ms


def assign(group: ConsumerGroup, now: Situation) -> None:
    """Make the target for the group's epoch; only what changes is written."""
    topics: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}
    partition_counts: dict[bytes, int] = {}
    specs = []
    for member in group.members.values():
        subscription = member.topic_names, member.topic_regex
        if subscription not in topics:
            existing = [
                now.image.topics[name] for name in group.topics_of(member) if name in now.image.topics
            ]
            topics[subscription] = frozenset(each.topic_id for each in existing)
            partition_counts.update({each.topic_id: len(each.partitions) for each in existing})
        specs.append(
            MemberSpec(
                member_id=member.member_id,
                instance_id=member.instance_id,
                topic_ids=topics[subscription],
                current=group.target.get(member.member_id, NOTHING),
            )
        )
    made = ASSIGNORS[assignor_of(group, now.settings)](specs, partition_counts)
    for member_id, target in made.items():
        if group.target.get(member_id) != target:
            group.put_target(member_id, target)
    group.put_assignment_epoch(group.epoch, now.moment)


def assignor_of(group: ConsumerGroup, settings: ConsumerSettings) -> str:
    """The assignor that most members ask for, of those that are offered."""
    votes = Counter(
        m.server_assignor for m in group.members.values() if m.server_assignor in settings.assignors
    )
    return max(votes, key=lambda name: (votes[name], name or ""), default=None) or settings.assignors[0]
