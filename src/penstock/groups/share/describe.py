"""Describes a share group for ShareGroupDescribe."""

from penstock.groups.share import assignor
from penstock.groups.share.context import ShareContext
from penstock.groups.share.group import ShareGroup
from penstock.groups.share.member import ShareMember
from penstock.protocol.messages import share_group_describe as wire


def describe(group: ShareGroup, ctx: ShareContext) -> wire.DescribedGroup:
    return wire.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor.NAME,
        members=[_member(each, ctx) for each in group.members.values()],
    )


def _member(member: ShareMember, ctx: ShareContext) -> wire.Member:
    """Deleted topics have no name and are left out."""
    return wire.Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        assignment=wire.Assignment(
            topic_partitions=[
                wire.TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions))
                for topic_id, partitions in sorted(member.assigned.items())
                if (topic := ctx.image.topics_by_id.get(topic_id)) is not None
            ]
        ),
    )
