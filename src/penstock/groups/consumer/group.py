"""The data of a KIP-848 group.

No I/O. The timers, `must_refresh` and `unmatched_topics` are not in the log; they are reset by `resume`.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.base.assignment import NOTHING
from penstock.groups.base.epoch_group import EpochGroup, GroupState
from penstock.groups.base.instant import Instant
from penstock.groups.base.timers import Awaited
from penstock.groups.consumer import records
from penstock.groups.consumer.member import Holding, Member, assignment_in
from penstock.groups.consumer.reconcile import TargetAssignment
from penstock.groups.consumer.records import PartitionMetadataKey, RegexKey, ResolvedRegex
from penstock.groups.consumer.states import MemberState
from penstock.protocol.coordinator_records import TypedRecord


class ConsumerGroup(EpochGroup[Member]):
    types = records.TYPES
    new_member = Member
    recorded = (
        *EpochGroup.recorded,
        "_owners",
        "has_partition_metadata",
        "regexes",
        "static_members",
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id, epoch=0)
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.regexes: dict[str, ResolvedRegex] = {}
        self.unmatched_topics: set[str] | None = None
        """Created topics that have not been matched against the patterns yet; None means all topics."""
        self.has_partition_metadata = False
        """Whether the log has a record of the old type 4, which the next epoch deletes."""
        self._owners: dict[tuple[bytes, int], str] = {}

    # -- questions ------------------------------------------------------------------------------------

    @property
    def state(self) -> GroupState:
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(
            m.state is MemberState.STABLE and m.epoch == self.assignment_epoch for m in self.members.values()
        ):
            return GroupState.STABLE
        return GroupState.RECONCILING

    @property
    def has_only_classic_members(self) -> bool:
        return all(m.classic is not None for m in self.members.values())

    def static_member(self, instance_id: str | None) -> Member | None:
        return None if instance_id is None else self.members.get(self.static_members.get(instance_id, ""))

    def owner(self, topic_id: bytes, partition: int) -> str | None:
        """Return the member that holds a partition, also when it has to revoke it."""
        return self._owners.get((topic_id, partition))

    def topic_names(self) -> set[str]:
        return super().topic_names().union(*(each.topics for each in self.regexes.values()))

    def is_subscribed_to(self, topic: str) -> bool:
        return super().is_subscribed_to(topic) or any(topic in each.topics for each in self.regexes.values())

    def topics_of(self, member: Member) -> frozenset[str]:
        resolved = self.regexes.get(member.topic_regex)
        return member.topic_names if resolved is None else member.topic_names.union(resolved.topics)

    def has_subscriber(self, regex: str) -> bool:
        return any(m.topic_regex == regex for m in self.members.values())

    def target_assignment_of(self, member: Member, image: MetadataImage) -> TargetAssignment:
        names = self.topics_of(member)
        topic_ids = frozenset(image.topics[name].topic_id for name in names if name in image.topics)
        return TargetAssignment(self.assignment_epoch, self.target_of(member, topic_ids))

    def waits_for_others(self, member: Member) -> bool:
        """Whether other members hold partitions of this member's target."""
        held = assignment_in(member.assigned)
        return any(
            not self.is_free_for(member.member_id, topic_id, partition)
            for topic_id, partitions in self.target.get(member.member_id, NOTHING).items()
            for partition in partitions - held.get(topic_id, frozenset())
        )

    def is_free_for(self, member_id: str, topic_id: bytes, partition: int) -> bool:
        return self._owners.get((topic_id, partition), member_id) == member_id

    # -- changes --------------------------------------------------------------------------------------

    def bump_epoch(self, metadata_hash: int) -> None:
        if self.has_partition_metadata:
            self.record(PartitionMetadataKey(group_id=self.group_id), None)
        super().bump_epoch(metadata_hash)

    def put_regex(self, regex: str, value: ResolvedRegex | None) -> None:
        self.record(RegexKey(group_id=self.group_id, regular_expression=regex), value)

    def remove_member(self, member: Member) -> None:
        super().remove_member(member)
        if member.topic_regex in self.regexes and not self.has_subscriber(member.topic_regex):
            self.put_regex(member.topic_regex, None)

    def tombstones(self) -> Iterator[TypedRecord]:
        for member_id in self.members:
            yield self._key(self.types.progress, member_id), None
        for member_id in self.target.keys() | self.members.keys():
            yield self._key(self.types.target, member_id), None
        yield self.types.target_epoch.key(group_id=self.group_id), None
        for member_id in self.members:
            yield self._key(self.types.member, member_id), None
        for regex in self.regexes:
            yield RegexKey(group_id=self.group_id, regular_expression=regex), None
        yield PartitionMetadataKey(group_id=self.group_id), None
        yield self.types.group.key(group_id=self.group_id), None

    # -- records --------------------------------------------------------------------------------------

    def _apply_regex(self, key: Any, value: Any) -> None:
        if value is None:
            self.regexes.pop(key.regular_expression, None)
        else:
            self.regexes[key.regular_expression] = value

    def _apply_partition_metadata(self, _key: Any, value: Any) -> None:
        self.has_partition_metadata = value is not None

    appliers: ClassVar = {
        **EpochGroup.common_appliers(records.TYPES),
        RegexKey: _apply_regex,
        PartitionMetadataKey: _apply_partition_metadata,
    }

    def _replace(self, member: Member) -> None:
        before = self.members.get(member.member_id)
        super()._replace(member)
        if before is not None:
            self._disown(before)
        self._own(member)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def _remove(self, member_id: str) -> None:
        member = self.members.get(member_id)
        super()._remove(member_id)
        if member is not None:
            self._disown(member)
            if self.static_members.get(member.instance_id or "") == member_id:
                del self.static_members[member.instance_id or ""]

    def _own(self, member: Member) -> None:
        for partition in _held_partitions(member.assigned, member.revoking):
            self._owners[partition] = member.member_id

    def _disown(self, member: Member) -> None:
        for partition in _held_partitions(member.assigned, member.revoking):
            if self._owners.get(partition) == member.member_id:
                del self._owners[partition]

    def resume(self, now: Instant, session_timeout_ms: int) -> None:
        """Start the timeouts, and match the patterns against all topics.

        A compacted log may show the next owner of a partition before the last one released it, so the owners are
        computed again.
        """
        self.unmatched_topics = None
        self._owners.clear()
        for member in self.members.values():
            self._own(member)
            classic = member.classic
            timeout_ms = session_timeout_ms if classic is None else classic.session_timeout_ms
            self.timers.start(member.member_id, Awaited.HEARTBEAT, now, timeout_ms)
            if classic is None and member.state is MemberState.UNREVOKED_PARTITIONS:
                self.timers.start(member.member_id, Awaited.REVOCATION, now, member.rebalance_timeout_ms)


def _held_partitions(*holdings: Holding) -> Iterator[tuple[bytes, int]]:
    return (
        (topic_id, partition)
        for holding in holdings
        for topic_id, each in holding.items()
        for partition in each
    )
