"""A KIP-848 group as ConsumerGroupDescribe shows it."""

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import Assignment, Member, partitions_of
from penstock.groups.consumer.situation import ConsumerSettings
from penstock.groups.consumer.targets import assignor_of
from penstock.groups.recorded_group import NOTHING
from penstock.protocol.messages import consumer_group_describe as wire

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def described(group: ConsumerGroup, image: MetadataImage, settings: ConsumerSettings) -> wire.DescribedGroup:
    return wire.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor_of(group, settings),
        members=[
            _member(each, group.target.get(each.member_id, NOTHING), image) for each in group.members.values()
        ],
    )


def _member(member: Member, target: Assignment, image: MetadataImage) -> wire.Member:
    return wire.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(partitions_of(member.assigned), image),
        target_assignment=_assignment(target, image),
        member_type=_CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
    )


def _assignment(assignment: Assignment, image: MetadataImage) -> wire.Assignment:
    """Topics that are gone have no name to be shown by."""
    return wire.Assignment(
        topic_partitions=[
            wire.TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assignment.items())
            if (topic := image.topics_by_id.get(topic_id)) is not None
        ]
    )
