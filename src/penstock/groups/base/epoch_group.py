"""A group that assigns partitions in epochs (KIP-848, KIP-932), changed by its records alone.

Requests are decided elsewhere as a series of records. `record` applies one and keeps it for the log; `apply` also
restores the group from the log. So memory and log cannot differ. When the log accepts the records, `take_outbox` ends
the series; when the log refuses them, `roll_back` does.
"""

import abc
import copy
import enum
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from penstock.groups.base.assignment import NOTHING, Assignment, topic_messages
from penstock.groups.base.instant import Instant
from penstock.groups.base.member import EpochMember
from penstock.groups.base.timers import MemberTimers
from penstock.protocol.coordinator_records import TypedRecord

M = TypeVar("M", bound=EpochMember)

NO_EPOCH = -1


class GroupState(enum.Enum):
    """The values are the names in the protocol."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class RecordType(msgspec.Struct, frozen=True):
    """The message classes of one record type."""

    key: Callable[..., Any]
    value: Callable[..., Any]


class RecordTypes(msgspec.Struct, frozen=True, kw_only=True):
    """The record types that all groups with epochs have."""

    group: RecordType
    member: RecordType
    progress: RecordType
    target: RecordType
    target_epoch: RecordType
    target_topic: Callable[..., Any]


class EpochGroup(abc.ABC, Generic[M]):
    types: ClassVar[RecordTypes]
    new_member: ClassVar[Callable[..., Any]]
    appliers: ClassVar[Mapping[Any, Callable[[Any, Any, Any], None]]]
    """Applies a record, by the class of its key."""
    recorded: ClassVar[tuple[str, ...]] = (
        "_subscriber_counts",
        "assigned_at_ms",
        "assignment_epoch",
        "epoch",
        "members",
        "metadata_hash",
        "target",
    )
    """The attributes that records change: values, or containers of values."""

    def __init__(self, group_id: str, epoch: int) -> None:
        self.group_id = group_id
        self.epoch = epoch
        self.members: dict[str, M] = {}
        self.metadata_hash = 0
        self.assignment_epoch = NO_EPOCH
        self.assigned_at_ms = 0
        self.target: dict[str, Assignment] = {}
        self.must_refresh = True
        """A subscribed topic may have been created, changed or deleted: the next heartbeat checks that."""
        self.timers = MemberTimers()
        self.outbox: list[TypedRecord] = []
        self._before: dict[str, Any] = {}  # the recorded attributes before the outbox
        self._subscriber_counts: Counter[str] = Counter()  # members that subscribe to a topic by name

    # -- records --------------------------------------------------------------------------------------

    def apply(self, key: Any, value: Any) -> None:
        """Apply one record, in whatever order a compacted log has left them."""
        self.appliers[type(key)](self, key, value)

    def record(self, key: Any, value: Any) -> None:
        """Make a change, and keep it for the log."""
        if not self.outbox:
            self._before = {name: copy.copy(getattr(self, name)) for name in self.recorded}
        self.apply(key, value)
        self.outbox.append((key, value))

    def take_outbox(self) -> list[TypedRecord]:
        """Return the changes, which the log has or is about to have."""
        taken, self.outbox = self.outbox, []
        self._before = {}
        return taken

    def roll_back(self, now: Instant, session_timeout_ms: int) -> None:
        """Undo the changes in the outbox, because the log refuses them, as if the group had just been loaded."""
        for name, value in self._before.items():
            setattr(self, name, value)
        self.take_outbox()
        self.timers = MemberTimers()
        self.must_refresh = True
        self.resume(now, session_timeout_ms)

    @abc.abstractmethod
    def resume(self, now: Instant, session_timeout_ms: int) -> None:
        """Start the session timeouts of a group that was loaded from the log."""

    @abc.abstractmethod
    def tombstones(self) -> Iterator[TypedRecord]:
        """Return the records that delete the group from the log."""

    def _apply_group(self, _key: Any, value: Any) -> None:
        if value is not None:  # the shard removes a deleted group
            self.epoch = value.epoch
            self.metadata_hash = value.metadata_hash

    def _apply_member(self, key: Any, value: Any) -> None:
        if value is None:
            self._remove(key.member_id)
        else:
            self._replace(self._member(key.member_id).with_metadata(value))

    def _apply_progress(self, key: Any, value: Any) -> None:
        if value is not None:
            self._replace(self._member(key.member_id).with_progress(value))
        elif key.member_id in self.members:
            self._replace(self.members[key.member_id].without_progress())

    def _apply_target(self, key: Any, value: Any) -> None:
        if value is None:
            self.target.pop(key.member_id, None)
        else:
            self.target[key.member_id] = {
                each.topic_id: frozenset(each.partitions) for each in value.topic_partitions
            }

    def _apply_target_epoch(self, _key: Any, value: Any) -> None:
        if value is None:
            self.assignment_epoch = NO_EPOCH
        else:
            self.assignment_epoch = value.assignment_epoch
            self.assigned_at_ms = value.assignment_timestamp

    @classmethod
    def common_appliers(cls, types: RecordTypes) -> dict[Any, Callable[[Any, Any, Any], None]]:
        return {
            types.group.key: cls._apply_group,
            types.member.key: cls._apply_member,
            types.progress.key: cls._apply_progress,
            types.target.key: cls._apply_target,
            types.target_epoch.key: cls._apply_target_epoch,
        }

    def _member(self, member_id: str) -> M:
        known = self.members.get(member_id)
        return self.new_member(member_id=member_id) if known is None else known

    def _replace(self, member: M) -> None:
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is not None:
            self._count_subscriber(before, -1)
        self._count_subscriber(member, 1)

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_subscriber(member, -1)

    def _count_subscriber(self, member: M, by: int) -> None:
        for name in member.topic_names:
            self._subscriber_counts[name] += by
            if not self._subscriber_counts[name]:
                del self._subscriber_counts[name]

    # -- changes --------------------------------------------------------------------------------------

    def bump_epoch(self, metadata_hash: int) -> None:
        self.put_epoch(self.epoch + 1, metadata_hash)

    def put_epoch(self, epoch: int, metadata_hash: int) -> None:
        value = self.types.group.value(epoch=epoch, metadata_hash=metadata_hash)
        self.record(self.types.group.key(group_id=self.group_id), value)

    def put_member(self, member: M) -> None:
        self.record(self._key(self.types.member, member.member_id), member.metadata())

    def put_progress(self, member: M) -> None:
        self.record(self._key(self.types.progress, member.member_id), member.progress())

    def put_target(self, member_id: str, target: Assignment) -> None:
        topics = topic_messages(target, self.types.target_topic)
        self.record(self._key(self.types.target, member_id), self.types.target.value(topic_partitions=topics))

    def put_targets(self, targets: Mapping[str, Assignment], now: Instant) -> None:
        """Record the target assignment of the current epoch. Writes only the targets that change."""
        for member_id, target in targets.items():
            if self.target.get(member_id) != target:
                self.put_target(member_id, target)
        self.put_assignment_epoch(self.epoch, now)

    def put_assignment_epoch(self, epoch: int, now: Instant) -> None:
        value = self.types.target_epoch.value(assignment_epoch=epoch, assignment_timestamp=now.wall_ms)
        self.record(self.types.target_epoch.key(group_id=self.group_id), value)

    def remove_member(self, member: M) -> None:
        """Remove a member. The caller begins a new epoch."""
        for record_type in (self.types.progress, self.types.target, self.types.member):
            self.record(self._key(record_type, member.member_id), None)
        self.timers.remove(member.member_id)

    def _key(self, record_type: RecordType, member_id: str) -> Any:
        return record_type.key(group_id=self.group_id, member_id=member_id)

    # -- questions ------------------------------------------------------------------------------------

    @property
    @abc.abstractmethod
    def state(self) -> GroupState: ...

    @property
    def wake_at_ms(self) -> float:
        return self.timers.wake_at_ms if self.members else math.inf

    def topic_names(self) -> set[str]:
        """Return every topic that a member subscribes to."""
        return set(self._subscriber_counts)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self._subscriber_counts

    def is_target_due(self, now: Instant, interval_ms: int) -> bool:
        """Whether a new target assignment is needed, and the last one is old enough (KIP-1263).

        A target without any partition is replaced at once, so that a lone consumer that restarts does not wait. So is
        a target from the future: the clock was set back.
        """
        if self.epoch <= self.assignment_epoch:
            return False
        return not any(self.target.values()) or not 0 <= now.wall_ms - self.assigned_at_ms < interval_ms

    def target_of(self, member: M, topic_ids: frozenset[bytes]) -> Assignment:
        """Return the target of a member without topics that it no longer subscribes to (KIP-1263)."""
        target = self.target.get(member.member_id, NOTHING)
        return {each: target[each] for each in target if each in topic_ids}
