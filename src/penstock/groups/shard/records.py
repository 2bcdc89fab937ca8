"""Records of offsets and classic groups in `__consumer_offsets`, framed as `protocol.coordinator_records` describes.

Types: 0 and 1 an offset (0 in old brokers), 2 a classic group. Other types belong to newer kinds of groups.
"""

from penstock.protocol.coordinator_records import RecordCodec
from penstock.protocol.messages import (
    group_metadata_record,
    legacy_offset_commit_record,
    offset_commit_record,
)
from penstock.protocol.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.records.builder import NewRecord

_CODEC = RecordCodec(
    [offset_commit_record, group_metadata_record],
    legacy={legacy_offset_commit_record.RECORD_TYPE: offset_commit_record},
)
# The latest versions that Kafka 4 writes. An offset has the topic's id; an offset with an expiry time needs version 1.
_OFFSET_VERSION = 4
_EXPIRING_OFFSET_VERSION = 1
_GROUP_VERSION = 3

decode = _CODEC.decode


def offset_record(key: OffsetCommitKey, value: OffsetCommitValue | None, now_ms: int) -> NewRecord:
    is_expiring = value is not None and value.expire_timestamp >= 0
    return _CODEC.encode((key, value), now_ms, _EXPIRING_OFFSET_VERSION if is_expiring else _OFFSET_VERSION)


def group_record(group_id: str, value: GroupMetadataValue | None, now_ms: int) -> NewRecord:
    return _CODEC.encode((GroupMetadataKey(group=group_id), value), now_ms, _GROUP_VERSION)
