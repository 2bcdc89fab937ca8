"""The records of a KIP-848 group in `__consumer_offsets`, in Kafka's format, framed as `protocol.coordinator_records`
describes.

3   ConsumerGroupMetadata                  the group epoch, and a hash of the subscribed topics (KIP-1101)
4   ConsumerGroupPartitionMetadata         written by brokers before KIP-1101; read, and then deleted
5   ConsumerGroupMemberMetadata            the client and the subscription of a member
6   ConsumerGroupTargetAssignmentMetadata  the epoch and the time of the target assignment
7   ConsumerGroupTargetAssignmentMember    the target assignment of a member
8   ConsumerGroupCurrentMemberAssignment   the epoch and the partitions of a member
16  ConsumerGroupRegularExpression         the topics that match a pattern
"""

from typing import Final

from penstock.groups.base.epoch_group import RecordType, RecordTypes
from penstock.protocol.coordinator_records import RecordCodec
from penstock.protocol.messages import consumer_group_current_member_assignment_record as progress
from penstock.protocol.messages import consumer_group_member_metadata_record as member
from penstock.protocol.messages import consumer_group_metadata_record as group
from penstock.protocol.messages import consumer_group_partition_metadata_record as partition_metadata
from penstock.protocol.messages import consumer_group_regular_expression_record as regex
from penstock.protocol.messages import consumer_group_target_assignment_member_record as target
from penstock.protocol.messages import consumer_group_target_assignment_metadata_record as target_epoch

GroupKey = group.ConsumerGroupMetadataKey
PartitionMetadataKey = partition_metadata.ConsumerGroupPartitionMetadataKey
RegexKey = regex.ConsumerGroupRegularExpressionKey
ResolvedRegex = regex.ConsumerGroupRegularExpressionValue

TYPES: Final = RecordTypes(
    group=RecordType(GroupKey, group.ConsumerGroupMetadataValue),
    member=RecordType(member.ConsumerGroupMemberMetadataKey, member.ConsumerGroupMemberMetadataValue),
    progress=RecordType(
        progress.ConsumerGroupCurrentMemberAssignmentKey, progress.ConsumerGroupCurrentMemberAssignmentValue
    ),
    target=RecordType(
        target.ConsumerGroupTargetAssignmentMemberKey, target.ConsumerGroupTargetAssignmentMemberValue
    ),
    target_epoch=RecordType(
        target_epoch.ConsumerGroupTargetAssignmentMetadataKey,
        target_epoch.ConsumerGroupTargetAssignmentMetadataValue,
    ),
    target_topic=target.TopicPartition,
)

_CODEC: Final = RecordCodec([group, partition_metadata, member, target_epoch, target, progress, regex])
encode = _CODEC.encode
decode = _CODEC.decode
