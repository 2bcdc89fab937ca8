"""The records of a KIP-848 group in `__consumer_offsets`, in Kafka's own form; the frame is that of `groups.records`.

3   ConsumerGroupMetadata                  the group's epoch, and a hash of the topics that it reads (KIP-1101)
4   ConsumerGroupPartitionMetadata         what brokers wrote before there was that hash: read, and then removed
5   ConsumerGroupMemberMetadata            what a member said of itself
6   ConsumerGroupTargetAssignmentMetadata  the epoch of the target assignment, and when it was made
7   ConsumerGroupTargetAssignmentMember    a member's part of the target
8   ConsumerGroupCurrentMemberAssignment   how far a member is
16  ConsumerGroupRegularExpression         the topics that a pattern stands for
"""

import struct
from typing import Any, Final, Protocol, cast

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
from penstock.protocol.records.builder import NewRecord

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

_VERSION: Final = struct.Struct(">h")
_VALUE_VERSION: Final = 0


class _Codec(Protocol):
    RECORD_TYPE: int

    def encode_key(self, message: Any, version: int) -> bytes: ...
    def encode_value(self, message: Any, version: int) -> bytes: ...
    def decode_key(self, buf: bytes, version: int, pos: int = 0) -> Any: ...
    def decode_value(self, buf: bytes, version: int, pos: int = 0) -> Any: ...


_MODULES: Final[dict[type, object]] = {
    ConsumerGroupMetadataKey: consumer_group_metadata_record,
    ConsumerGroupPartitionMetadataKey: consumer_group_partition_metadata_record,
    ConsumerGroupMemberMetadataKey: consumer_group_member_metadata_record,
    ConsumerGroupTargetAssignmentMetadataKey: consumer_group_target_assignment_metadata_record,
    ConsumerGroupTargetAssignmentMemberKey: consumer_group_target_assignment_member_record,
    ConsumerGroupCurrentMemberAssignmentKey: consumer_group_current_member_assignment_record,
    ConsumerGroupRegularExpressionKey: consumer_group_regular_expression_record,
}
_BY_KEY: Final = {key: cast("_Codec", module) for key, module in _MODULES.items()}
_BY_TYPE: Final = {codec.RECORD_TYPE: codec for codec in _BY_KEY.values()}


def encode(change: Change, now_ms: int) -> NewRecord:
    key, value = change
    codec = _BY_KEY[type(key)]
    encoded = None
    if value is not None:
        encoded = _VERSION.pack(_VALUE_VERSION) + codec.encode_value(value, _VALUE_VERSION)
    return NewRecord(_VERSION.pack(codec.RECORD_TYPE) + codec.encode_key(key, 0), encoded, (), now_ms)


def decode(key: bytes, value: bytes | None) -> Change | None:
    """The change a record makes, None when it is of another kind. Raises `ProtocolError` when it is malformed."""
    codec = _BY_TYPE.get(int.from_bytes(key[: _VERSION.size], "big", signed=True))
    if codec is None:
        return None
    decoded = None
    if value is not None:
        version = int.from_bytes(value[: _VERSION.size], "big", signed=True)
        decoded = codec.decode_value(value, version, _VERSION.size)
    return codec.decode_key(key, 0, _VERSION.size), decoded
