"""One member of a share group: what it said of itself, and what it was told to read.

Values, never changed in place: the group replaces a member by its next version, as its records say.
"""

import msgspec

from penstock.groups.consumer.member import JOIN_EPOCH, Assignment
from penstock.groups.consumer.states import MemberState
from penstock.protocol.messages.share_group_current_member_assignment_record import (
    ShareGroupCurrentMemberAssignmentValue,
    TopicPartitions,
)
from penstock.protocol.messages.share_group_member_metadata_record import ShareGroupMemberMetadataValue


class ShareMember(msgspec.Struct, frozen=True, kw_only=True):
    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()

    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    assigned: Assignment = {}

    def metadata(self) -> ShareGroupMemberMetadataValue:
        return ShareGroupMemberMetadataValue(
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=sorted(self.topic_names),
        )

    def with_metadata(self, value: ShareGroupMemberMetadataValue) -> "ShareMember":
        return msgspec.structs.replace(
            self,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=frozenset(value.subscribed_topic_names),
        )

    def progress(self) -> ShareGroupCurrentMemberAssignmentValue:
        return ShareGroupCurrentMemberAssignmentValue(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=MemberState.STABLE,  # nothing is ever waited for: many may read a partition
            assigned_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in sorted(self.assigned.items())
            ],
        )

    def with_progress(self, value: ShareGroupCurrentMemberAssignmentValue) -> "ShareMember":
        return msgspec.structs.replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            assigned={each.topic_id: frozenset(each.partitions) for each in value.assigned_partitions},
        )
