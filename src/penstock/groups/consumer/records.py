"""The records of a KIP-848 group in `__consumer_offsets`, in Kafka's own form, framed as `groups.record_kinds` says.

3   ConsumerGroupMetadata                  the group's epoch, and a hash of the topics that it reads (KIP-1101)
4   ConsumerGroupPartitionMetadata         what brokers wrote before there was that hash: read, and then removed
5   ConsumerGroupMemberMetadata            what a member said of itself
6   ConsumerGroupTargetAssignmentMetadata  the epoch of the target assignment, and when it was made
7   ConsumerGroupTargetAssignmentMember    a member's part of the target
8   ConsumerGroupCurrentMemberAssignment   how far a member is
16  ConsumerGroupRegularExpression         the topics that a pattern stands for
"""

from typing import Final

from penstock.groups.record_kinds import RecordKinds
from penstock.protocol.messages import (
    consumer_group_current_member_assignment_record,
    consumer_group_member_metadata_record,
    consumer_group_metadata_record,
    consumer_group_partition_metadata_record,
    consumer_group_regular_expression_record,
    consumer_group_target_assignment_member_record,
    consumer_group_target_assignment_metadata_record,
)
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
)
from penstock.protocol.messages.consumer_group_target_assignment_metadata_record import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

Key = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)
Value = (
    ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupCurrentMemberAssignmentValue
    | ConsumerGroupRegularExpressionValue
)
Change = tuple[Key, Value | None]
"""One record: what it is about and what holds from now on; None forgets it."""

_KINDS: Final[RecordKinds[Key, Value]] = RecordKinds(
    {
        ConsumerGroupMetadataKey: consumer_group_metadata_record,
        ConsumerGroupPartitionMetadataKey: consumer_group_partition_metadata_record,
        ConsumerGroupMemberMetadataKey: consumer_group_member_metadata_record,
        ConsumerGroupTargetAssignmentMetadataKey: consumer_group_target_assignment_metadata_record,
        ConsumerGroupTargetAssignmentMemberKey: consumer_group_target_assignment_member_record,
        ConsumerGroupCurrentMemberAssignmentKey: consumer_group_current_member_assignment_record,
        ConsumerGroupRegularExpressionKey: consumer_group_regular_expression_record,
    }
)
encode = _KINDS.encode
decode = _KINDS.decode
