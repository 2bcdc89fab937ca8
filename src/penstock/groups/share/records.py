"""The records of a share group in `__consumer_offsets`, in Kafka's format, framed as `protocol.coordinator_records`
describes.

10  ShareGroupMemberMetadata            the client and the subscription of a member
11  ShareGroupMetadata                  the group epoch, and a hash of the subscribed topics
12  ShareGroupTargetAssignmentMetadata  the epoch and the time of the target assignment
13  ShareGroupTargetAssignmentMember    the target assignment of a member
14  ShareGroupCurrentMemberAssignment   the epoch and the partitions of a member
15  ShareGroupStatePartitionMetadata    the share partitions that the share coordinator has, gets and loses

The tombstone of 11 has a header `epoch`, an i32: the last epoch of the deleted group. A new group of the same name
continues from there. Kafka ignores headers.
"""

import struct
from collections.abc import Iterable
from typing import Final

import msgspec

from penstock.groups.base.epoch_group import RecordType, RecordTypes
from penstock.protocol.coordinator_records import RecordCodec
from penstock.protocol.messages import share_group_current_member_assignment_record as progress
from penstock.protocol.messages import share_group_member_metadata_record as member
from penstock.protocol.messages import share_group_metadata_record as group
from penstock.protocol.messages import share_group_state_partition_metadata_record as state_partitions
from penstock.protocol.messages import share_group_target_assignment_member_record as target
from penstock.protocol.messages import share_group_target_assignment_metadata_record as target_epoch
from penstock.protocol.records.builder import NewRecord

GroupKey = group.ShareGroupMetadataKey
StatePartitionsKey = state_partitions.ShareGroupStatePartitionMetadataKey

TYPES: Final = RecordTypes(
    group=RecordType(GroupKey, group.ShareGroupMetadataValue),
    member=RecordType(member.ShareGroupMemberMetadataKey, member.ShareGroupMemberMetadataValue),
    progress=RecordType(
        progress.ShareGroupCurrentMemberAssignmentKey, progress.ShareGroupCurrentMemberAssignmentValue
    ),
    target=RecordType(
        target.ShareGroupTargetAssignmentMemberKey, target.ShareGroupTargetAssignmentMemberValue
    ),
    target_epoch=RecordType(
        target_epoch.ShareGroupTargetAssignmentMetadataKey,
        target_epoch.ShareGroupTargetAssignmentMetadataValue,
    ),
    target_topic=target.TopicPartition,
)

_CODEC: Final = RecordCodec([member, group, target_epoch, target, progress, state_partitions])
encode = _CODEC.encode
decode = _CODEC.decode

_EPOCH_HEADER: Final = "epoch"
_EPOCH: Final = struct.Struct(">i")


def with_epoch(tombstone: NewRecord, epoch: int) -> NewRecord:
    return msgspec.structs.replace(tombstone, headers=((_EPOCH_HEADER, _EPOCH.pack(epoch)),))


def last_epoch(headers: Iterable[tuple[str, bytes | None]]) -> int | None:
    """Return the epoch in the headers of a tombstone, None when it has none."""
    for name, value in headers:
        if name == _EPOCH_HEADER and value is not None and len(value) == _EPOCH.size:
            epoch: int = _EPOCH.unpack(value)[0]
            return epoch
    return None
