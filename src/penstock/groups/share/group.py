"""The data of a share group (KIP-932), changed by its records alone.

Pure. Not in the log are the timers, `must_refresh`, and `in_flight`: what is waited for begins anew after a restart.
"""

from collections import Counter
from collections.abc import Iterator

import msgspec

from penstock.groups.consumer.member import LEAVE_EPOCH, Assignment
from penstock.groups.consumer.states import GroupState
from penstock.groups.moment import Moment
from penstock.groups.recorded_group import NO_EPOCH, NOTHING, RecordedGroup
from penstock.groups.share.ledger import Ledger, ledger_of
from penstock.groups.share.member import ShareMember
from penstock.groups.share.records import Change, Key, Value
from penstock.protocol.messages.share_group_current_member_assignment_record import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
)
from penstock.protocol.messages.share_group_member_metadata_record import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
)
from penstock.protocol.messages.share_group_metadata_record import (
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from penstock.protocol.messages.share_group_state_partition_metadata_record import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)
from penstock.protocol.messages.share_group_target_assignment_member_record import (
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from penstock.protocol.messages.share_group_target_assignment_metadata_record import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

FIRST_EPOCH = 1
"""Before anyone joined, as in Kafka: offsets may be set then, and the share coordinator is told the epoch."""


class ShareGroup(RecordedGroup[Key, Value]):
    __slots__ = ("_readers", "assigned_ledger", "in_flight", "ledger", "members")

    recorded = (*RecordedGroup.recorded, "_readers", "ledger", "members")

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id, FIRST_EPOCH)
        self.members: dict[str, ShareMember] = {}
        self.ledger = Ledger()
        self.assigned_ledger: Ledger | None = None
        """The ledger of which everything is known to be in the target: heartbeats need not compare it again."""
        self.in_flight: Assignment = {}
        """The partitions that the share coordinator is being asked to initialize or to forget."""
        self._readers: Counter[str] = Counter()  # how many members name a topic

    # -- questions ------------------------------------------------------------------------------------

    @property
    def state(self) -> GroupState:
        """Members need not wait for one another, so that a group is never in between."""
        return GroupState.STABLE if self.members else GroupState.EMPTY

    def topic_names(self) -> set[str]:
        return set(self._readers)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self._readers

    # -- changes --------------------------------------------------------------------------------------

    def bump_epoch(self, metadata_hash: int) -> None:
        self._put_epoch(self.epoch + 1, metadata_hash)

    def go_on_from(self, epoch: int) -> None:
        """A group of this name was deleted in this epoch.

        Leaders of partitions may still have its state, or write to it: none of its epochs must come again.
        """
        self._put_epoch(epoch + 1, self.metadata_hash)

    def _put_epoch(self, epoch: int, metadata_hash: int) -> None:
        self.record(
            ShareGroupMetadataKey(group_id=self.group_id),
            ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
        )

    def put_member(self, member: ShareMember) -> None:
        key = ShareGroupMemberMetadataKey(group_id=self.group_id, member_id=member.member_id)
        self.record(key, member.metadata())

    def put_progress(self, member: ShareMember) -> None:
        key = ShareGroupCurrentMemberAssignmentKey(group_id=self.group_id, member_id=member.member_id)
        self.record(key, member.progress())

    def put_target(self, member_id: str, target: Assignment) -> None:
        self.record(
            ShareGroupTargetAssignmentMemberKey(group_id=self.group_id, member_id=member_id),
            ShareGroupTargetAssignmentMemberValue(
                topic_partitions=[
                    TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in sorted(target.items())
                ]
            ),
        )

    def put_assignment_epoch(self, epoch: int, moment: Moment) -> None:
        self.record(
            ShareGroupTargetAssignmentMetadataKey(group_id=self.group_id),
            ShareGroupTargetAssignmentMetadataValue(
                assignment_epoch=epoch, assignment_timestamp=moment.wall_ms
            ),
        )

    def put_ledger(self, ledger: Ledger) -> None:
        if ledger != self.ledger:
            self.record(ShareGroupStatePartitionMetadataKey(group_id=self.group_id), ledger.value())

    def remove_member(self, member: ShareMember) -> None:
        """Forget a member; the epoch is for whoever removes it to see to."""
        name = {"group_id": self.group_id, "member_id": member.member_id}
        self.record(ShareGroupCurrentMemberAssignmentKey(**name), None)
        self.record(ShareGroupTargetAssignmentMemberKey(**name), None)
        self.record(ShareGroupMemberMetadataKey(**name), None)
        self.timers.forget(member.member_id)

    def tombstones(self) -> Iterator[Change]:
        """What makes the log forget the group, which has no members."""
        yield ShareGroupTargetAssignmentMetadataKey(group_id=self.group_id), None
        yield ShareGroupStatePartitionMetadataKey(group_id=self.group_id), None
        yield ShareGroupMetadataKey(group_id=self.group_id), None

    # -- records --------------------------------------------------------------------------------------

    def apply(self, key: Key, value: Value | None) -> None:
        match key, value:
            case ShareGroupCurrentMemberAssignmentKey(), ShareGroupCurrentMemberAssignmentValue():
                self._replace(self._member(key.member_id).with_progress(value))
            case ShareGroupCurrentMemberAssignmentKey(), None:
                if (member := self.members.get(key.member_id)) is not None:
                    gone = {"epoch": LEAVE_EPOCH, "previous_epoch": LEAVE_EPOCH}
                    self._replace(msgspec.structs.replace(member, **gone, assigned={}))
            case ShareGroupMemberMetadataKey(), ShareGroupMemberMetadataValue():
                self._replace(self._member(key.member_id).with_metadata(value))
            case ShareGroupMemberMetadataKey(), None:
                self._remove(key.member_id)
            case ShareGroupTargetAssignmentMemberKey(), ShareGroupTargetAssignmentMemberValue():
                self.target[key.member_id] = {
                    each.topic_id: frozenset(each.partitions) for each in value.topic_partitions
                }
            case ShareGroupTargetAssignmentMemberKey(), None:
                self.target.pop(key.member_id, None)
            case ShareGroupTargetAssignmentMetadataKey(), ShareGroupTargetAssignmentMetadataValue():
                self.assignment_epoch = value.assignment_epoch
                self.assigned_at_ms = value.assignment_timestamp
            case ShareGroupTargetAssignmentMetadataKey(), None:
                self.assignment_epoch = NO_EPOCH
            case ShareGroupMetadataKey(), ShareGroupMetadataValue():
                self.epoch = value.epoch
                self.metadata_hash = value.metadata_hash
            case ShareGroupStatePartitionMetadataKey(), ShareGroupStatePartitionMetadataValue():
                self.ledger = ledger_of(value)
            case ShareGroupStatePartitionMetadataKey(), None:
                self.ledger = Ledger()
            case _:
                pass  # the end of the group itself is for its shard

    def _member(self, member_id: str) -> ShareMember:
        return self.members.get(member_id) or ShareMember(member_id=member_id)

    def _replace(self, member: ShareMember) -> None:
        self._remove(member.member_id)
        self.members[member.member_id] = member
        self._readers.update(member.topic_names)

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._readers -= Counter(member.topic_names)

    def resume(self, moment: Moment, session_timeout_ms: int) -> None:
        """The group was read from the log: members have a whole session to be heard of again."""
        for member_id in self.members:
            self.timers.expect(member_id, moment, session_timeout_ms)

    def target_of(self, member: ShareMember, topic_ids: frozenset[bytes]) -> Assignment:
        """A member's part of the target, which may be older than what it subscribes to (KIP-1263)."""
        target = self.target.get(member.member_id, NOTHING)
        return {each: target[each] for each in target if each in topic_ids}
