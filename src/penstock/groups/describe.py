"""Describes groups that assign in epochs, for ConsumerGroupDescribe and ShareGroupDescribe."""

from collections.abc import Callable
from typing import Any

from penstock.groups.base.assignment import NOTHING, Assignment
from penstock.groups.base.context import ConsumerContext, GroupContext, ShareContext
from penstock.groups.base.epoch_group import EpochGroup
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import Member, assignment_in
from penstock.groups.consumer.targets import assignor_of
from penstock.groups.share import assignor
from penstock.groups.share.group import ShareGroup
from penstock.protocol.messages import consumer_group_describe, share_group_describe

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1


def describe_consumer_group(
    group: ConsumerGroup, ctx: ConsumerContext
) -> consumer_group_describe.DescribedGroup:
    wire = consumer_group_describe

    def fields_of(member: Member) -> dict[str, Any]:
        target = group.target.get(member.member_id, NOTHING)
        return {
            "instance_id": member.instance_id,
            "subscribed_topic_regex": member.topic_regex,
            "assignment": _assignment(wire, assignment_in(member.assigned), ctx),
            "target_assignment": _assignment(wire, target, ctx),
            "member_type": _CONSUMER_MEMBER if member.classic is None else _CLASSIC_MEMBER,
        }

    described: wire.DescribedGroup = _describe(wire, group, assignor_of(group, ctx.settings), fields_of)
    return described


def describe_share_group(group: ShareGroup, ctx: ShareContext) -> share_group_describe.DescribedGroup:
    wire = share_group_describe
    described: wire.DescribedGroup = _describe(
        wire, group, assignor.NAME, lambda member: {"assignment": _assignment(wire, member.assigned, ctx)}
    )
    return described


def _describe(
    wire: Any, group: EpochGroup[Any], assignor_name: str, fields_of: Callable[[Any], dict[str, Any]]
) -> Any:
    return wire.DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=assignor_name,
        members=[
            wire.Member(
                member_id=member.member_id,
                rack_id=member.rack_id,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=sorted(member.topic_names),
                **fields_of(member),
            )
            for member in group.members.values()
        ],
    )


def _assignment(wire: Any, assignment: Assignment, ctx: GroupContext[Any]) -> Any:
    """Deleted topics have no name and are left out."""
    return wire.Assignment(
        topic_partitions=[
            wire.TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assignment.items())
            if (topic := ctx.image.topics_by_id.get(topic_id)) is not None
        ]
    )
