"""The records of a share group in `__consumer_offsets`, in Kafka's own form, framed as `groups.record_kinds` says.

10  ShareGroupMemberMetadata            what a member said of itself
11  ShareGroupMetadata                  the group's epoch, and a hash of the topics that it reads
12  ShareGroupTargetAssignmentMetadata  the epoch of the target assignment, and when it was made
13  ShareGroupTargetAssignmentMember    a member's part of the target
14  ShareGroupCurrentMemberAssignment   what a member was told, and in which epoch
15  ShareGroupStatePartitionMetadata    the share partitions that the share coordinator has, gets and loses

The tombstone of 11 has a header `epoch`, an i32: the last epoch of the deleted group. One that is made under its name
goes on from there. Kafka passes headers over.
"""

import struct
from collections.abc import Iterable
from typing import Final

import msgspec

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
from penstock.protocol.records.builder import NewRecord

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

_EPOCH_HEADER: Final = "epoch"
_EPOCH: Final = struct.Struct(">i")


def with_epoch(tombstone: NewRecord, epoch: int) -> NewRecord:
    return msgspec.structs.replace(tombstone, headers=((_EPOCH_HEADER, _EPOCH.pack(epoch)),))


def last_epoch(headers: Iterable[tuple[str, bytes | None]]) -> int | None:
    """That of a tombstone, None when it was written without."""
    for name, value in headers:
        if name == _EPOCH_HEADER and value is not None and len(value) == _EPOCH.size:
            epoch: int = _EPOCH.unpack(value)[0]
            return epoch
    return None
