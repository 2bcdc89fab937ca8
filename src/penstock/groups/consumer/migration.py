"""From a classic group to a KIP-848 one and back, while its members go on (KIP-848, online migration).

A classic group whose members embed the consumer protocol becomes a KIP-848 group when the first member of the new
protocol joins; it becomes classic again when the last of them goes and classic ones are left. Everyone keeps what it
holds: nothing is read twice and nothing is left out.
"""

from penstock.groups.classic.group import ClassicGroup, GroupSettings
from penstock.groups.classic.member import Member as ClassicMember
from penstock.groups.classic.states import State
from penstock.groups.consumer.embedded import (
    CONSUMER_PROTOCOL,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import ClassicProtocols, Holding, Member
from penstock.groups.consumer.situation import ConsumerSettings, Situation
from penstock.groups.consumer.subscription import hash_of_topics
from penstock.groups.recorded_group import NOTHING
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.messages.consumer_group_metadata_record import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)


def upgraded(classic: ClassicGroup, now: Situation) -> ConsumerGroup:
    """The KIP-848 group that a classic one becomes; its records are in its outbox, the classic one is untouched."""
    settings = now.settings
    if not settings.allows_upgrade or classic.protocol_type != CONSUMER_PROTOCOL:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {classic.group_id} is not a consumer group.")
    if len(classic.members) >= settings.size_max:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {settings.size_max} members.",
        )
    try:
        members = [_upgraded_member(classic, each, now) for each in classic.members.values()]
    except ProtocolError as error:
        raise Refused(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot upgrade classic group {classic.group_id} to consumer group because the embedded consumer "
            "protocol is malformed.",
        ) from error
    group = ConsumerGroup(classic.group_id)
    for member in members:
        group.put_member(member)
    group.record(
        ConsumerGroupMetadataKey(group_id=group.group_id),
        ConsumerGroupMetadataValue(
            epoch=classic.generation, metadata_hash=hash_of_topics(group.topic_names(), now.image)
        ),
    )
    for member in members:
        group.put_target(member.member_id, {t: frozenset(each) for t, each in member.assigned.items()})
    group.put_assignment_epoch(classic.generation, now.moment)
    for member in members:
        group.put_progress(member)
    group.resume(now.moment, settings.session_timeout_ms)
    return group


def _upgraded_member(classic: ClassicGroup, member: ClassicMember, now: Situation) -> Member:
    protocols = member.protocols
    if classic.protocol_name is not None:  # the one in use first: a KIP-848 group looks at that
        protocols = tuple(sorted(protocols, key=lambda each: each[0] != classic.protocol_name))
    said = decode_subscription(protocols[0][1] if protocols else b"")
    held: Holding = {
        topic_id: dict.fromkeys(partitions, classic.generation)
        for topic_id, partitions in decode_assignment(member.assignment, now.image).items()
    }
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=said.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=frozenset(said.topics),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicProtocols(member.session_timeout_ms, protocols),
        epoch=classic.generation,
        previous_epoch=classic.generation,
        assigned=held,
    )


def can_downgrade(group: ConsumerGroup, settings: ConsumerSettings) -> bool:
    """Whether only classic members are left, at least one, and they may be a classic group."""
    return (
        settings.allows_downgrade
        and 0 < len(group.members) <= settings.classic_size_max
        and group.has_only_classic_members
    )


def downgraded(group: ConsumerGroup, settings: GroupSettings, now: Situation) -> ClassicGroup:
    """The classic group that a KIP-848 group with only classic members becomes: stable, with everyone's target."""
    classic = ClassicGroup(group.group_id, settings, now.moment.wall_ms)
    classic.generation = group.epoch
    for member in group.members.values():
        assert member.classic is not None, "only classic members are left"
        made = ClassicMember(
            member.member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout_ms=member.classic.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            protocols=member.classic.protocols,
        )
        classic.add(made, CONSUMER_PROTOCOL)
    classic.protocol_name = classic.elect_protocol()
    for made in classic.members.values():
        target = group.target.get(made.member_id, NOTHING)
        made.assignment = encode_assignment(target, made.metadata(classic.protocol_name), now.image)
    classic.read_subscriptions()
    classic.state = State.STABLE
    return classic
