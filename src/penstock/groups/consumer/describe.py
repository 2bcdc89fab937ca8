"""Describes a KIP-848 group for ConsumerGroupDescribe."""

from penstock.groups.base.assignment import NOTHING, Assignment
from penstock.groups.consumer.context import ConsumerContext
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import Member, assignment_in
from penstock.groups.consumer.targets import assignor_of
from penstock.protocol.messages import consumer_group_describe as wire

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def describe(group: ConsumerGroup, ctx: ConsumerContext) -> wire.DescribedGroup:
    return wire.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor_of(group, ctx.settings),
        members=[
            _member(each, group.target.get(each.member_id, NOTHING), ctx) for each in group.members.values()
        ],
    )


def _member(member: Member, target: Assignment, ctx: ConsumerContext) -> wire.Member:
    return wire.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(assignment_in(member.assigned), ctx),
        target_assignment=_assignment(target, ctx),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(assignment: Assignment, ctx: ConsumerContext) -> wire.Assignment:
    """Deleted topics have no name and are left out."""
    return wire.Assignment(
        topic_partitions=[
            wire.TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assignment.items())
            if (topic := ctx.image.topics_by_id.get(topic_id)) is not None
        ]
    )
