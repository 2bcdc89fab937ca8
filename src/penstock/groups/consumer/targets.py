"""Computes the target assignment of a KIP-848 group."""

from collections import Counter

from penstock.groups.base.assignment import NOTHING, MemberSpec
from penstock.groups.base.context import ConsumerContext, ConsumerSettings
from penstock.groups.consumer.assignors import ASSIGNORS
from penstock.groups.consumer.group import ConsumerGroup


def update_target_assignment(group: ConsumerGroup, ctx: ConsumerContext) -> None:
    """Compute the target assignment for the group's epoch."""
    topics: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}
    partition_counts: dict[bytes, int] = {}
    specs = []
    for member in group.members.values():
        subscription = member.topic_names, member.topic_regex
        if subscription not in topics:
            names = group.topics_of(member)
            existing = [ctx.image.topics[name] for name in names if name in ctx.image.topics]
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
    group.put_targets(ASSIGNORS[assignor_of(group, ctx.settings)](specs, partition_counts), ctx.now)


def assignor_of(group: ConsumerGroup, settings: ConsumerSettings) -> str:
    """Return the available assignor that most members select."""
    votes = Counter(
        m.server_assignor for m in group.members.values() if m.server_assignor in settings.assignors
    )
    return max(votes, key=lambda name: (votes[name], name or ""), default=None) or settings.assignors[0]
