"""The data of a KIP-848 group, changed by its records alone.

Pure. Only timers and `must_refresh` are not in the log; they begin anew with `resume`.
"""

from collections.abc import Iterator

import msgspec

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.consumer.member import (
    LEAVE_EPOCH,
    Assignment,
    Holding,
    Member,
    partitions_of,
)
from penstock.groups.consumer.reconcile import Goal
from penstock.groups.consumer.records import Change, Key, Value
from penstock.groups.consumer.states import GroupState, MemberState
from penstock.groups.moment import Moment
from penstock.groups.recorded_group import NO_EPOCH, NOTHING, RecordedGroup
from penstock.protocol.messages.consumer_group_current_member_assignment_record import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
)
from penstock.protocol.messages.consumer_group_member_metadata_record import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from penstock.protocol.messages.consumer_group_metadata_record import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from penstock.protocol.messages.consumer_group_partition_metadata_record import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from penstock.protocol.messages.consumer_group_regular_expression_record import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from penstock.protocol.messages.consumer_group_target_assignment_member_record import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from penstock.protocol.messages.consumer_group_target_assignment_metadata_record import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)


class ConsumerGroup(RecordedGroup[Key, Value]):
    __slots__ = (
        "_owners",
        "_readers",
        "has_partition_metadata",
        "members",
        "regexes",
        "static_members",
        "unseen_topics",
    )

    recorded = (
        *RecordedGroup.recorded,
        "_owners",
        "_readers",
        "has_partition_metadata",
        "members",
        "regexes",
        "static_members",
    )

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id, epoch=0)
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # member ids by instance id
        self.regexes: dict[str, ConsumerGroupRegularExpressionValue] = {}  # those that were resolved
        self.unseen_topics: set[str] | None = None
        """Topics that were made and no pattern was held against yet; None for all there are."""
        self.has_partition_metadata = False
        """Whether the log has a record of the older form, which the next change of the epoch removes."""
        self._owners: dict[tuple[bytes, int], str] = {}
        self._readers: dict[str, int] = {}  # how many members name a topic

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
        """Who holds a partition, also when it was told to give it up."""
        return self._owners.get((topic_id, partition))

    def topic_names(self) -> set[str]:
        """Every topic that somebody subscribes to, by name or by pattern."""
        return {*self._readers, *(name for each in self.regexes.values() for name in each.topics)}

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self._readers or any(topic in each.topics for each in self.regexes.values())

    def topics_of(self, member: Member) -> frozenset[str]:
        resolved = self.regexes.get(member.topic_regex)
        return member.topic_names if resolved is None else member.topic_names.union(resolved.topics)

    def has_subscriber(self, regex: str) -> bool:
        return any(m.topic_regex == regex for m in self.members.values())

    # -- changes --------------------------------------------------------------------------------------

    def bump_epoch(self, metadata_hash: int) -> None:
        if self.has_partition_metadata:
            self.record(ConsumerGroupPartitionMetadataKey(group_id=self.group_id), None)
        self.record(
            ConsumerGroupMetadataKey(group_id=self.group_id),
            ConsumerGroupMetadataValue(epoch=self.epoch + 1, metadata_hash=metadata_hash),
        )

    def put_member(self, member: Member) -> None:
        key = ConsumerGroupMemberMetadataKey(group_id=self.group_id, member_id=member.member_id)
        self.record(key, member.metadata())

    def put_progress(self, member: Member) -> None:
        key = ConsumerGroupCurrentMemberAssignmentKey(group_id=self.group_id, member_id=member.member_id)
        self.record(key, member.progress())

    def put_target(self, member_id: str, target: Assignment) -> None:
        self.record(
            ConsumerGroupTargetAssignmentMemberKey(group_id=self.group_id, member_id=member_id),
            ConsumerGroupTargetAssignmentMemberValue(
                topic_partitions=[
                    TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in sorted(target.items())
                ]
            ),
        )

    def put_assignment_epoch(self, epoch: int, moment: Moment) -> None:
        self.record(
            ConsumerGroupTargetAssignmentMetadataKey(group_id=self.group_id),
            ConsumerGroupTargetAssignmentMetadataValue(
                assignment_epoch=epoch, assignment_timestamp=moment.wall_ms
            ),
        )

    def put_regex(self, regex: str, value: ConsumerGroupRegularExpressionValue | None) -> None:
        key = ConsumerGroupRegularExpressionKey(group_id=self.group_id, regular_expression=regex)
        self.record(key, value)

    def remove_member(self, member: Member) -> None:
        """Forget a member; the epoch and the topics are for whoever removes it to see to."""
        name = {"group_id": self.group_id, "member_id": member.member_id}
        self.record(ConsumerGroupCurrentMemberAssignmentKey(**name), None)
        self.record(ConsumerGroupTargetAssignmentMemberKey(**name), None)
        self.record(ConsumerGroupMemberMetadataKey(**name), None)
        self.timers.forget(member.member_id)
        if member.topic_regex in self.regexes and not self.has_subscriber(member.topic_regex):
            self.put_regex(member.topic_regex, None)

    def tombstones(self) -> Iterator[Change]:
        """What makes the log forget the group."""
        for member_id in self.members:
            yield ConsumerGroupCurrentMemberAssignmentKey(group_id=self.group_id, member_id=member_id), None
        for member_id in self.target.keys() | self.members.keys():
            yield ConsumerGroupTargetAssignmentMemberKey(group_id=self.group_id, member_id=member_id), None
        yield ConsumerGroupTargetAssignmentMetadataKey(group_id=self.group_id), None
        for member_id in self.members:
            yield ConsumerGroupMemberMetadataKey(group_id=self.group_id, member_id=member_id), None
        for regex in self.regexes:
            key = ConsumerGroupRegularExpressionKey(group_id=self.group_id, regular_expression=regex)
            yield key, None
        yield ConsumerGroupPartitionMetadataKey(group_id=self.group_id), None
        yield ConsumerGroupMetadataKey(group_id=self.group_id), None

    # -- records --------------------------------------------------------------------------------------

    def apply(self, key: Key, value: Value | None) -> None:
        match key, value:
            case ConsumerGroupCurrentMemberAssignmentKey(), ConsumerGroupCurrentMemberAssignmentValue():
                self._replace(self._member(key.member_id).with_progress(value))
            case ConsumerGroupCurrentMemberAssignmentKey(), None:
                if (member := self.members.get(key.member_id)) is not None:
                    gone = {"epoch": LEAVE_EPOCH, "previous_epoch": LEAVE_EPOCH}
                    self._replace(msgspec.structs.replace(member, **gone, assigned={}, revoking={}))
            case ConsumerGroupMemberMetadataKey(), ConsumerGroupMemberMetadataValue():
                self._replace(self._member(key.member_id).with_metadata(value))
            case ConsumerGroupMemberMetadataKey(), None:
                self._remove(key.member_id)
            case ConsumerGroupTargetAssignmentMemberKey(), ConsumerGroupTargetAssignmentMemberValue():
                self.target[key.member_id] = {
                    each.topic_id: frozenset(each.partitions) for each in value.topic_partitions
                }
            case ConsumerGroupTargetAssignmentMemberKey(), None:
                self.target.pop(key.member_id, None)
            case (
                ConsumerGroupTargetAssignmentMetadataKey(),
                ConsumerGroupTargetAssignmentMetadataValue(),
            ):
                self.assignment_epoch = value.assignment_epoch
                self.assigned_at_ms = value.assignment_timestamp
            case ConsumerGroupTargetAssignmentMetadataKey(), None:
                self.assignment_epoch = NO_EPOCH
            case ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue():
                self.epoch = value.epoch
                self.metadata_hash = value.metadata_hash
            case ConsumerGroupRegularExpressionKey(), ConsumerGroupRegularExpressionValue():
                self.regexes[key.regular_expression] = value
            case ConsumerGroupRegularExpressionKey(), None:
                self.regexes.pop(key.regular_expression, None)
            case ConsumerGroupPartitionMetadataKey(), _:
                self.has_partition_metadata = isinstance(value, ConsumerGroupPartitionMetadataValue)
            case _:
                pass  # the end of the group itself is for its shard

    def _member(self, member_id: str) -> Member:
        return self.members.get(member_id) or Member(member_id=member_id)

    def _replace(self, member: Member) -> None:
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is not None:
            self._count(before, -1)
            self._disown(before)
        self._count(member, 1)
        self._own(member)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._count(member, -1)
        self._disown(member)
        if self.static_members.get(member.instance_id or "") == member_id:
            del self.static_members[member.instance_id or ""]

    def _count(self, member: Member, by: int) -> None:
        for name in member.topic_names:
            count = self._readers.get(name, 0) + by
            if count:
                self._readers[name] = count
            else:
                self._readers.pop(name, None)

    def _own(self, member: Member) -> None:
        for place in _places(member.assigned, member.revoking):
            self._owners[place] = member.member_id

    def _disown(self, member: Member) -> None:
        for place in _places(member.assigned, member.revoking):
            if self._owners.get(place) == member.member_id:
                del self._owners[place]

    def resume(self, moment: Moment, session_timeout_ms: int) -> None:
        """The group was read from the log: members have a whole session to be heard of again.

        A compacted log may show a partition's next holder before its last one let it go: owners are counted anew.
        Patterns are held against all topics there are.
        """
        self.unseen_topics = None
        self._owners.clear()
        for member in self.members.values():
            self._own(member)
            classic = member.classic
            timeout_ms = session_timeout_ms if classic is None else classic.session_timeout_ms
            self.timers.expect(member.member_id, moment, timeout_ms)
            if classic is None and member.state is MemberState.UNREVOKED_PARTITIONS:
                self.timers.await_revocation(member.member_id, moment, member.rebalance_timeout_ms)

    # -- goals ----------------------------------------------------------------------------------------

    def goal_of(self, member: Member, image: MetadataImage) -> Goal:
        """What a member is to get to. The target may be older than what it subscribes to (KIP-1263)."""
        reads = {image.topics[name].topic_id for name in self.topics_of(member) if name in image.topics}
        target = self.target.get(member.member_id, NOTHING)
        return Goal(self.assignment_epoch, {each: target[each] for each in target if each in reads})

    def waits_for_others(self, member: Member) -> bool:
        """Whether all that a member is still to get is held by others."""
        held = partitions_of(member.assigned)
        missing = [
            (topic_id, partition)
            for topic_id, partitions in self.target.get(member.member_id, NOTHING).items()
            for partition in partitions - held.get(topic_id, frozenset())
        ]
        return any(self._owners.get(place, member.member_id) != member.member_id for place in missing)

    def is_free_for(self, member_id: str, topic_id: bytes, partition: int) -> bool:
        return self._owners.get((topic_id, partition), member_id) == member_id


def _places(*holdings: Holding) -> Iterator[tuple[bytes, int]]:
    return (
        (topic_id, partition)
        for holding in holdings
        for topic_id, each in holding.items()
        for partition in each
    )
