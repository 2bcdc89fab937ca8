"""The records of a share group in `__consumer_offsets`, in Kafka's own form, framed as `groups.record_kinds` says.

10  ShareGroupMemberMetadata            what a member said of itself
11  ShareGroupMetadata                  the group's epoch, and a hash of the topics that it reads
12  ShareGroupTargetAssignmentMetadata  the epoch of the target assignment, and when it was made
13  ShareGroupTargetAssignmentMember    a member's part of the target
14  ShareGroupCurrentMemberAssignment   what a member was told, and in which epoch
15  ShareGroupStatePartitionMetadata    the share partitions that the share coordinator has, gets and loses
"""

from typing import Final

from penstock.groups.record_kinds import RecordKinds
from penstock.protocol.messages import (
    share_group_current_member_assignment_record,
    share_group_member_metadata_record,
    share_group_metadata_record,
    share_group_state_partition_metadata_record,
    share_group_target_assignment_member_record,
    share_group_target_assignment_metadata_record,
)
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
)
from penstock.protocol.messages.share_group_target_assignment_metadata_record import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

Key = (
    ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
)
Value = (
    ShareGroupMemberMetadataValue
    | ShareGroupMetadataValue
    | ShareGroupTargetAssignmentMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupCurrentMemberAssignmentValue
    | ShareGroupStatePartitionMetadataValue
)
Change = tuple[Key, Value | None]
"""One record: what it is about and what holds from now on; None forgets it."""

_KINDS: Final[RecordKinds[Key, Value]] = RecordKinds(
    {
        ShareGroupMemberMetadataKey: share_group_member_metadata_record,
        ShareGroupMetadataKey: share_group_metadata_record,
        ShareGroupTargetAssignmentMetadataKey: share_group_target_assignment_metadata_record,
        ShareGroupTargetAssignmentMemberKey: share_group_target_assignment_member_record,
        ShareGroupCurrentMemberAssignmentKey: share_group_current_member_assignment_record,
        ShareGroupStatePartitionMetadataKey: share_group_state_partition_metadata_record,
    }
)
encode = _KINDS.encode
decode = _KINDS.decode
