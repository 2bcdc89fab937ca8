"""A member of a consumer group of the new kind (KIP-848), seen from the member. Pure: it says what to send next.

`heartbeat()` is the request to send, `answered()` takes the answer and tells what changed. The coordinator tells the
partitions that this member may have now; what is not among them any more has to be given up first (`confirm`), and
only then do others get it.

    joining ── answer ──> member ── assignment without some of ours ──> giving up ── confirm ──> member
       ^                    │
       └── fenced, unknown ─┘   (all partitions are lost at once)
"""

import enum
from collections.abc import Mapping, Sequence

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


class Standing(enum.Enum):
    JOINING = "joining"
    MEMBER = "member"
    GIVING_UP = "giving up"
    LEFT = "left"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer changed. `lost` ones are somebody else's already; `revoked` ones are to be confirmed."""

    assigned: Owned = frozenset()
    revoked: Owned = frozenset()
    lost: Owned = frozenset()


class Membership:
    __slots__ = (
        "_giving_up",
        "_group",
        "_owned",
        "_rebalance_timeout_ms",
        "_reported",
        "_target",
        "_topics",
        "epoch",
        "heartbeat_interval_ms",
        "member_id",
        "standing",
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
        self.standing = Standing.JOINING
        self._owned: Owned = frozenset()
        self._giving_up: Owned = frozenset()
        self._target: Owned = frozenset()
        self._reported: Owned | None = None  # what the coordinator was last told

    @property
    def owned(self) -> Owned:
        return self._owned

    @property
    def has_news(self) -> bool:
        """Whether the coordinator waits to hear of what is owned: do not wait for the next heartbeat's turn."""
        return self.standing is Standing.JOINING or (
            self.standing is Standing.MEMBER and self._reported != self._owned
        )

    def heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        if self.standing is Standing.JOINING:
            self._reported = frozenset()
            return ConsumerGroupHeartbeatRequest(
                group_id=self._group,
                member_id=self.member_id,
                member_epoch=_JOIN_EPOCH,
                rebalance_timeout_ms=self._rebalance_timeout_ms,
                subscribed_topic_names=self._topics,
                topic_partitions=[],
            )
        # While giving up, what is being given up counts as owned still.
        self._reported = self._owned
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            topic_partitions=_reported(self._owned),
        )

    def answered(self, response: ConsumerGroupHeartbeatResponse) -> Change:
        """Take an answer that is no error, or one of those that put the member out."""
        if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            return self._put_out()
        self.epoch = response.member_epoch
        self.member_id = response.member_id or self.member_id
        self.heartbeat_interval_ms = response.heartbeat_interval_ms or self.heartbeat_interval_ms
        if self.standing is Standing.JOINING:
            self.standing = Standing.MEMBER
        if response.assignment is None:
            return Change()
        return self._assigned(_told(response.assignment))

    def _assigned(self, target: Owned) -> Change:
        self._target = target
        if self.standing is Standing.GIVING_UP:
            return Change()  # looked at again when the confirmation is there
        revoked = self._owned - target
        if revoked:
            self._giving_up = revoked
            self.standing = Standing.GIVING_UP
            return Change(revoked=revoked)
        added = target - self._owned
        self._owned = target
        return Change(assigned=added)

    def confirm(self) -> Change:
        """What was revoked is not used any more; what is new may be used from now on."""
        if self.standing is not Standing.GIVING_UP:
            return Change()
        self.standing = Standing.MEMBER
        self._owned -= self._giving_up
        return self._assigned(self._target)

    def _put_out(self) -> Change:
        lost, self._owned = self._owned, frozenset()
        self.epoch = _JOIN_EPOCH
        self.standing = Standing.JOINING
        self._reported = None
        return Change(lost=lost)

    def leaving(self) -> ConsumerGroupHeartbeatRequest | None:
        """The farewell; None when there is no group to leave."""
        was, self.standing = self.standing, Standing.LEFT
        if was is Standing.LEFT or self._reported is None:
            return None
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=_LEAVE_EPOCH
        )


def _reported(owned: Owned) -> list[RequestTopicPartitions]:
    return [
        RequestTopicPartitions(topic_id=topic_id, partitions=partitions)
        for topic_id, partitions in _by_topic(owned).items()
    ]


def _told(assignment: Assignment) -> Owned:
    return frozenset(
        (topic.topic_id, partition) for topic in assignment.topic_partitions for partition in topic.partitions
    )


def _by_topic(owned: Owned) -> Mapping[bytes, list[int]]:
    by_topic: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(owned):
        by_topic.setdefault(topic_id, []).append(partition)
    return by_topic
