"""Converts a classic group to a KIP-848 group and back while its members keep working (KIP-848, online migration).

A classic group whose members embed the consumer protocol becomes a KIP-848 group when the first member of the new
protocol joins. It becomes classic again when the last of them leaves and classic members remain. Every member keeps
its partitions, so that no record is skipped or read twice.
"""

from penstock.groups.base.assignment import NOTHING
from penstock.groups.base.context import ConsumerContext, ConsumerSettings
from penstock.groups.base.errors import GroupError, group_full
from penstock.groups.base.topics import hash_topics
from penstock.groups.classic.group import ClassicGroup, GroupSettings
from penstock.groups.classic.member import Member as ClassicMember
from penstock.groups.classic.states import State
from penstock.groups.classic.subscriptions import CONSUMER_PROTOCOL
from penstock.groups.consumer.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import ClassicProtocols, Holding, Member, assignment_in
from penstock.protocol.errors import ErrorCode, ProtocolError


def upgrade(classic: ClassicGroup, ctx: ConsumerContext) -> ConsumerGroup:
    """Return a KIP-848 group with the same members. Its records are in its outbox; the classic group is unchanged."""
    settings = ctx.settings
    if not settings.allows_upgrade or classic.protocol_type != CONSUMER_PROTOCOL:
        raise GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {classic.group_id} is not a consumer group.")
    if len(classic.members) >= settings.size_max:
        raise group_full("consumer", settings.size_max)
    try:
        members = [_upgrade_member(classic, each, ctx) for each in classic.members.values()]
    except ProtocolError as error:
        raise GroupError(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot upgrade classic group {classic.group_id} to consumer group because the embedded consumer "
            "protocol is malformed.",
        ) from error
    group = ConsumerGroup(classic.group_id)
    for member in members:
        group.put_member(member)
    group.put_epoch(classic.generation, hash_topics(group.topic_names(), ctx.image))
    for member in members:
        group.put_target(member.member_id, assignment_in(member.assigned))
    group.put_assignment_epoch(classic.generation, ctx.now)
    for member in members:
        group.put_progress(member)
    group.resume(ctx.now, settings.session_timeout_ms)
    return group


def _upgrade_member(classic: ClassicGroup, member: ClassicMember, ctx: ConsumerContext) -> Member:
    protocols = member.protocols
    if classic.protocol_name is not None:  # the selected one first: a KIP-848 group uses the first
        protocols = tuple(sorted(protocols, key=lambda each: each[0] != classic.protocol_name))
    subscription = decode_subscription(protocols[0][1] if protocols else b"")
    assigned: Holding = {
        topic_id: dict.fromkeys(partitions, classic.generation)
        for topic_id, partitions in decode_assignment(member.assignment, ctx.image).items()
    }
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=frozenset(subscription.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicProtocols(member.session_timeout_ms, protocols),
        epoch=classic.generation,
        previous_epoch=classic.generation,
        assigned=assigned,
    )


def can_downgrade(group: ConsumerGroup, settings: ConsumerSettings) -> bool:
    """Whether the group has members, all of them classic, and may become a classic group."""
    return (
        settings.allows_downgrade
        and 0 < len(group.members) <= settings.classic_size_max
        and group.has_only_classic_members
    )


def downgrade(group: ConsumerGroup, settings: GroupSettings, ctx: ConsumerContext) -> ClassicGroup:
    """Return a stable classic group with the same members and their target assignments."""
    classic = ClassicGroup(group.group_id, settings, ctx.now.wall_ms)
    classic.generation = group.epoch
    for member in group.members.values():
        assert member.classic is not None, "only classic members are left"
        classic_member = ClassicMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout_ms=member.classic.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            protocols=member.classic.protocols,
        )
        classic.add(classic_member, CONSUMER_PROTOCOL)
    classic.protocol_name = classic.elect_protocol()
    for classic_member in classic.members.values():
        target = group.target.get(classic_member.member_id, NOTHING)
        metadata = classic_member.metadata(classic.protocol_name)
        classic_member.assignment = encode_assignment(target, metadata, ctx.image)
    classic.read_subscriptions()
    classic.state = State.STABLE
    return classic
