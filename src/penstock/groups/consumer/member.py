"""One member of a KIP-848 group: what it said of itself, and how far it is with its assignment.

Values, never changed in place: the group replaces a member by its next version, as its records say.
"""

from collections.abc import Collection, Mapping

import msgspec

from penstock.groups.consumer.states import MemberState
from penstock.protocol.messages.consumer_group_current_member_assignment_record import (
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from penstock.protocol.messages.consumer_group_member_metadata_record import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)

Assignment = Mapping[bytes, frozenset[int]]
"""Partitions by topic id; no topic without any."""

Holding = Mapping[bytes, Mapping[int, int]]
"""Partitions by topic id, each with the epoch in which it was given."""

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_STATIC_EPOCH = -2


class ClassicProtocols(msgspec.Struct, frozen=True):
    """What a member that still speaks the classic protocol said when it joined; the first protocol is used."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class Member(msgspec.Struct, frozen=True, kw_only=True):
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    topic_regex: str = ""
    """Empty when it subscribes to names only."""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicProtocols | None = None
    """None for a member that speaks the new protocol."""

    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: Holding = {}
    revoking: Holding = {}
    """What it was told to give up; nobody else gets it before it did."""

    @property
    def is_away(self) -> bool:
        """A static member that left for a while: its partitions wait for it until its session ends."""
        return self.epoch == LEAVE_STATIC_EPOCH

    # -- the record of what it said -------------------------------------------------------------------

    def metadata(self) -> ConsumerGroupMemberMetadataValue:
        classic = None
        if self.classic is not None:
            classic = ClassicMemberMetadata(
                session_timeout_ms=self.classic.session_timeout_ms,
                supported_protocols=[ClassicProtocol(name=n, metadata=m) for n, m in self.classic.protocols],
            )
        return ConsumerGroupMemberMetadataValue(
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=sorted(self.topic_names),
            subscribed_topic_regex=self.topic_regex,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.server_assignor,
            classic_member_metadata=classic,
        )

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue) -> "Member":
        classic = value.classic_member_metadata
        return msgspec.structs.replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=frozenset(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=None
            if classic is None
            else ClassicProtocols(
                classic.session_timeout_ms, tuple((p.name, p.metadata) for p in classic.supported_protocols)
            ),
        )

    # -- the record of what it holds ------------------------------------------------------------------

    def progress(self) -> ConsumerGroupCurrentMemberAssignmentValue:
        return ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=self.state,
            assigned_partitions=_stored(self.assigned),
            partitions_pending_revocation=_stored(self.revoking),
        )

    def with_progress(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "Member":
        return msgspec.structs.replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            # A state of the future: the next heartbeat compares with the target and finds the right one.
            state=MemberState(value.state)
            if value.state in _KNOWN_STATES
            else MemberState.UNRELEASED_PARTITIONS,
            assigned=_held(value.assigned_partitions, value.member_epoch),
            revoking=_held(value.partitions_pending_revocation, value.member_epoch),
        )


_KNOWN_STATES = frozenset(MemberState)


def _stored(holding: Holding) -> list[TopicPartitions]:
    return [
        TopicPartitions(topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values()))
        for topic_id, epochs in sorted((t, dict(sorted(e.items()))) for t, e in holding.items())
    ]


def _held(topics: Collection[TopicPartitions], epoch: int) -> Holding:
    """Older records do not tell in which epoch each partition was given: the member's own is never too early."""
    return {
        each.topic_id: dict(
            zip(each.partitions, each.assignment_epochs or [epoch] * len(each.partitions), strict=True)
        )
        for each in topics
    }


def partitions_of(holding: Holding) -> Assignment:
    return {topic_id: frozenset(epochs) for topic_id, epochs in holding.items()}
