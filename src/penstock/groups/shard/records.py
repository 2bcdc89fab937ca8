"""Records of offsets and classic groups in `__consumer_offsets`, in Kafka's format.

    key    i16 record type, then the key's message, version 0
    value  i16 version, then the value's message; null deletes the key

Types: 0 and 1 an offset (0 in old brokers), 2 a classic group. Other types belong to newer kinds of groups.
"""

import struct

from penstock.protocol.messages import (
    group_metadata_record,
    legacy_offset_commit_record,
    offset_commit_record,
)
from penstock.protocol.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from penstock.protocol.records.builder import NewRecord

_VERSION = struct.Struct(">h")
_OFFSET_TYPE = _VERSION.pack(offset_commit_record.RECORD_TYPE)
_GROUP_TYPE = _VERSION.pack(group_metadata_record.RECORD_TYPE)
# The newest that Kafka 4 writes. An offset has the topic's id; one with an expiry time needs version 1.
_OFFSET_VERSION = 4
_EXPIRING_OFFSET_VERSION = 1
_GROUP_VERSION = 3


def offset_record(key: OffsetCommitKey, value: OffsetCommitValue | None, now_ms: int) -> NewRecord:
    encoded = None
    if value is not None:
        version = _OFFSET_VERSION if value.expire_timestamp < 0 else _EXPIRING_OFFSET_VERSION
        encoded = _VERSION.pack(version) + offset_commit_record.encode_value(value, version)
    return NewRecord(_OFFSET_TYPE + offset_commit_record.encode_key(key, 0), encoded, (), now_ms)


def group_record(group_id: str, value: GroupMetadataValue | None, now_ms: int) -> NewRecord:
    encoded = None
    if value is not None:
        encoded = _VERSION.pack(_GROUP_VERSION) + group_metadata_record.encode_value(value, _GROUP_VERSION)
    key = _GROUP_TYPE + group_metadata_record.encode_key(GroupMetadataKey(group=group_id), 0)
    return NewRecord(key, encoded, (), now_ms)


def decode_key(key: bytes) -> OffsetCommitKey | GroupMetadataKey | None:
    """Return None for other record types. Raises `ProtocolError` when the key is malformed."""
    kind = int.from_bytes(key[: _VERSION.size], "big", signed=True)
    if kind in (offset_commit_record.RECORD_TYPE, legacy_offset_commit_record.RECORD_TYPE):
        return offset_commit_record.decode_key(key, 0, _VERSION.size)
    if kind == group_metadata_record.RECORD_TYPE:
        return group_metadata_record.decode_key(key, 0, _VERSION.size)
    return None


def decode_offset(value: bytes) -> OffsetCommitValue:
    version = int.from_bytes(value[: _VERSION.size], "big", signed=True)
    return offset_commit_record.decode_value(value, version, _VERSION.size)


def decode_group(value: bytes) -> GroupMetadataValue:
    version = int.from_bytes(value[: _VERSION.size], "big", signed=True)
    return group_metadata_record.decode_value(value, version, _VERSION.size)
