"""One member of a KIP-848 group."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from penstock.groups.base.assignment import Assignment
from penstock.groups.base.member import EpochMember
from penstock.groups.consumer.states import MemberState
from penstock.protocol.messages import consumer_group_current_member_assignment_record as progress_record
from penstock.protocol.messages import consumer_group_member_metadata_record as metadata_record

Holding = Mapping[bytes, Mapping[int, int]]
"""Partitions by topic id, each with the epoch in which it was assigned."""

NOTHING_HELD: Holding = {}

LEAVE_STATIC_EPOCH = -2


class ClassicProtocols(msgspec.Struct, frozen=True):
    """The join request of a member that still uses the classic protocol. The first protocol is used."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]


class Member(EpochMember, frozen=True, kw_only=True):
    instance_id: str | None = None
    topic_regex: str = ""
    """Empty when it subscribes to names only."""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicProtocols | None = None
    """None for a member that uses the KIP-848 protocol."""
    state: MemberState = MemberState.STABLE
    assigned: Holding = NOTHING_HELD
    revoking: Holding = NOTHING_HELD
    """Partitions that it has to revoke. No other member gets them before it has."""

    @property
    def is_away(self) -> bool:
        """Whether a static member has left temporarily: it keeps its partitions until its session times out."""
        return self.epoch == LEAVE_STATIC_EPOCH

    def metadata(self) -> metadata_record.ConsumerGroupMemberMetadataValue:
        classic = None
        if self.classic is not None:
            classic = metadata_record.ClassicMemberMetadata(
                session_timeout_ms=self.classic.session_timeout_ms,
                supported_protocols=[
                    metadata_record.ClassicProtocol(name=n, metadata=m) for n, m in self.classic.protocols
                ],
            )
        return metadata_record.ConsumerGroupMemberMetadataValue(
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

    def with_metadata(self, value: Any) -> "Member":
        classic = value.classic_member_metadata
        if classic is not None:
            protocols = tuple((p.name, p.metadata) for p in classic.supported_protocols)
            classic = ClassicProtocols(classic.session_timeout_ms, protocols)
        return msgspec.structs.replace(
            super().with_metadata(value),
            instance_id=value.instance_id,
            topic_regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=classic,
        )

    def progress(self) -> progress_record.ConsumerGroupCurrentMemberAssignmentValue:
        return progress_record.ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=self.state,
            assigned_partitions=_encode_holding(self.assigned),
            partitions_pending_revocation=_encode_holding(self.revoking),
        )

    def with_progress(self, value: Any) -> "Member":
        # An unknown state was written by a newer version: the next heartbeat compares with the target and corrects it.
        is_known = value.state in _KNOWN_STATES
        return msgspec.structs.replace(
            super().with_progress(value),
            state=MemberState(value.state) if is_known else MemberState.UNRELEASED_PARTITIONS,
            assigned=_decode_holding(value.assigned_partitions, value.member_epoch),
            revoking=_decode_holding(value.partitions_pending_revocation, value.member_epoch),
        )

    def without_progress(self) -> "Member":
        return msgspec.structs.replace(super().without_progress(), assigned={}, revoking={})


_KNOWN_STATES = frozenset(MemberState)


def _encode_holding(holding: Holding) -> list[progress_record.TopicPartitions]:
    return [
        progress_record.TopicPartitions(
            topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values())
        )
        for topic_id, epochs in sorted((t, dict(sorted(e.items()))) for t, e in holding.items())
    ]


def _decode_holding(topics: Collection[progress_record.TopicPartitions], epoch: int) -> Holding:
    """Older records have no assignment epochs. The member's own epoch is never too early."""
    return {
        each.topic_id: dict(
            zip(each.partitions, each.assignment_epochs or [epoch] * len(each.partitions), strict=True)
        )
        for each in topics
    }


def assignment_in(holding: Holding) -> Assignment:
    return {topic_id: frozenset(epochs) for topic_id, epochs in holding.items()}
