"""The member's side of a KIP-848 consumer group. Pure: it makes the requests and takes the responses.

`heartbeat()` makes the next request, `on_response()` takes its response and returns the change. The coordinator sends
the member's target assignment. Partitions that are not in it have to be revoked first (`confirm`); only then do other
members get them.

    joining ── response ──> member ── assignment without some of ours ──> revoking ── confirm ──> member
       ^                      │
       └── fenced, unknown ───┘   (all partitions are lost at once)
"""

import enum
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)

_JOIN_EPOCH = 0
_LEAVE_EPOCH = -1

Owned = frozenset[tuple[bytes, int]]
"""Partitions by topic id and number."""


class MemberState(enum.Enum):
    JOINING = "joining"
    MEMBER = "member"
    REVOKING = "revoking"
    LEFT = "left"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """`lost` partitions belong to other members already; `revoked` ones have to be confirmed."""

    assigned: Owned = frozenset()
    revoked: Owned = frozenset()
    lost: Owned = frozenset()


class Membership:
    __slots__ = (
        "_group",
        "_owned",
        "_rebalance_timeout_ms",
        "_reported",
        "_revoking",
        "_target",
        "_topics",
        "epoch",
        "heartbeat_interval_ms",
        "member_id",
        "state",
    )

    def __init__(
        self, group: str, topics: Sequence[str], *, member_id: str, rebalance_timeout_ms: int
    ) -> None:
        self._group = group
        self._topics = list(topics)
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.epoch = _JOIN_EPOCH
        self.heartbeat_interval_ms = 1_000
        self.state = MemberState.JOINING
        self._owned: Owned = frozenset()
        self._revoking: Owned = frozenset()
        self._target: Owned = frozenset()
        self._reported: Owned | None = None  # to the coordinator, in the last heartbeat

    @property
    def owned(self) -> Owned:
        return self._owned

    @property
    def must_report(self) -> bool:
        """Whether a heartbeat is due at once, because the coordinator waits for a change of `owned`."""
        return self.state is MemberState.JOINING or (
            self.state is MemberState.MEMBER and self._reported != self._owned
        )

    def heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        if self.state is MemberState.JOINING:
            self._reported = frozenset()
            return ConsumerGroupHeartbeatRequest(
                group_id=self._group,
                member_id=self.member_id,
                member_epoch=_JOIN_EPOCH,
                rebalance_timeout_ms=self._rebalance_timeout_ms,
                subscribed_topic_names=self._topics,
                topic_partitions=[],
            )
        # While revoking, the revoked partitions still count as owned.
        self._reported = self._owned
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            topic_partitions=_reported(self._owned),
        )

    def on_response(self, response: ConsumerGroupHeartbeatResponse) -> Change:
        """Take a response without an error, or with one that removes the member from the group."""
        if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            return self._rejoin()
        self.epoch = response.member_epoch
        self.member_id = response.member_id or self.member_id
        self.heartbeat_interval_ms = response.heartbeat_interval_ms or self.heartbeat_interval_ms
        if self.state is MemberState.JOINING:
            self.state = MemberState.MEMBER
        if response.assignment is None:
            return Change()
        return self._assigned(_partitions_in(response.assignment))

    def _assigned(self, target: Owned) -> Change:
        self._target = target
        if self.state is MemberState.REVOKING:
            return Change()  # applied after the confirmation
        revoked = self._owned - target
        if revoked:
            self._revoking = revoked
            self.state = MemberState.REVOKING
            return Change(revoked=revoked)
        added = target - self._owned
        self._owned = target
        return Change(assigned=added)

    def confirm(self) -> Change:
        """The revoked partitions are not read any more; newly assigned ones may be read."""
        if self.state is not MemberState.REVOKING:
            return Change()
        self.state = MemberState.MEMBER
        self._owned -= self._revoking
        return self._assigned(self._target)

    def _rejoin(self) -> Change:
        lost, self._owned = self._owned, frozenset()
        self.epoch = _JOIN_EPOCH
        self.state = MemberState.JOINING
        self._reported = None
        return Change(lost=lost)

    def leave(self) -> ConsumerGroupHeartbeatRequest | None:
        """The last heartbeat; None when the member has not joined."""
        was, self.state = self.state, MemberState.LEFT
        if was is MemberState.LEFT or self._reported is None:
            return None
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=_LEAVE_EPOCH
        )


def _reported(owned: Owned) -> list[RequestTopicPartitions]:
    return [
        RequestTopicPartitions(topic_id=topic_id, partitions=[partition for _, partition in partitions])
        for topic_id, partitions in groupby(sorted(owned), key=itemgetter(0))
    ]


def _partitions_in(assignment: Assignment) -> Owned:
    return frozenset(
        (topic.topic_id, partition) for topic in assignment.topic_partitions for partition in topic.partitions
    )
