"""One member of a share group."""

from typing import Any

import msgspec

from penstock.groups.base.assignment import NOTHING, Assignment, topic_messages
from penstock.groups.base.member import EpochMember
from penstock.protocol.messages import share_group_current_member_assignment_record as wire
from penstock.protocol.messages.share_group_member_metadata_record import ShareGroupMemberMetadataValue

_STABLE = 0  # the only state: several members may read a partition, so that no member waits for another


class ShareMember(EpochMember, frozen=True, kw_only=True):
    assigned: Assignment = NOTHING

    def metadata(self) -> ShareGroupMemberMetadataValue:
        return ShareGroupMemberMetadataValue(
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=sorted(self.topic_names),
        )

    def progress(self) -> wire.ShareGroupCurrentMemberAssignmentValue:
        return wire.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=_STABLE,
            assigned_partitions=topic_messages(self.assigned, wire.TopicPartitions),
        )

    def with_progress(self, value: Any) -> "ShareMember":
        assigned = {each.topic_id: frozenset(each.partitions) for each in value.assigned_partitions}
        return msgspec.structs.replace(super().with_progress(value), assigned=assigned)

    def without_progress(self) -> "ShareMember":
        return msgspec.structs.replace(super().without_progress(), assigned={})
