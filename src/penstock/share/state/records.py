"""Records of `__share_group_state` in Kafka's format.

    key    i16 record type, then group id, topic id and partition, version 0
    value  i16 version, then the value's message, version 0; null under a snapshot's key deletes the share partition

Types: 0 a snapshot, with the whole state of a share partition; 1 an update, which is merged into the last snapshot and
the updates behind it.
"""

import struct
from collections.abc import Iterable
from typing import Any

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import share_snapshot_record, share_update_record
from penstock.protocol.messages.share_snapshot_record import ShareSnapshotKey, ShareSnapshotValue
from penstock.protocol.messages.share_update_record import ShareUpdateKey, ShareUpdateValue
from penstock.protocol.records.builder import NewRecord
from penstock.share.state.values import RecordState, SharePartitionKey, StateBatch

_VERSION = struct.Struct(">h")
_SNAPSHOT_TYPE = _VERSION.pack(share_snapshot_record.RECORD_TYPE)
_UPDATE_TYPE = _VERSION.pack(share_update_record.RECORD_TYPE)
_VALUE_VERSION = _VERSION.pack(0)

Value = ShareSnapshotValue | ShareUpdateValue | None


def state_batches(batches: Iterable[Any]) -> list[StateBatch]:
    """Decode the state batches of any message. Raises `ProtocolError` for an impossible batch."""
    read = []
    for each in batches:
        try:
            state = RecordState(each.delivery_state)
        except ValueError:
            raise ProtocolError(f"unknown record state {each.delivery_state}") from None
        if each.first_offset > each.last_offset:
            raise ProtocolError(
                f"a state batch from {each.first_offset} to {each.last_offset} has no records"
            )
        read.append(StateBatch(each.first_offset, each.last_offset, state, each.delivery_count))
    return read


def encode(key: SharePartitionKey, value: Value, now_ms: int) -> NewRecord:
    """Return the record of a snapshot or an update; of None, the tombstone."""
    if isinstance(value, ShareUpdateValue):
        encoded_key = _UPDATE_TYPE + share_update_record.encode_key(ShareUpdateKey(**key._asdict()), 0)
        return NewRecord(encoded_key, _VALUE_VERSION + share_update_record.encode_value(value, 0), (), now_ms)
    encoded_key = _SNAPSHOT_TYPE + share_snapshot_record.encode_key(ShareSnapshotKey(**key._asdict()), 0)
    encoded = None if value is None else _VALUE_VERSION + share_snapshot_record.encode_value(value, 0)
    return NewRecord(encoded_key, encoded, (), now_ms)


def decode(key: bytes, value: bytes | None) -> tuple[SharePartitionKey, Value] | None:
    """Return None for unknown types and versions. Raises `ProtocolError` when a record is malformed."""
    kind = int.from_bytes(key[: _VERSION.size], "big", signed=True)
    version = 0 if value is None else int.from_bytes(value[: _VERSION.size], "big", signed=True)
    if version not in share_snapshot_record.VALUE_VERSIONS:
        return None
    decoded: Value = None
    stored: ShareSnapshotKey | ShareUpdateKey
    if kind == share_snapshot_record.RECORD_TYPE:
        stored = share_snapshot_record.decode_key(key, 0, _VERSION.size)
        if value is not None:
            decoded = share_snapshot_record.decode_value(value, version, _VERSION.size)
    elif kind == share_update_record.RECORD_TYPE and value is not None:
        stored = share_update_record.decode_key(key, 0, _VERSION.size)
        decoded = share_update_record.decode_value(value, version, _VERSION.size)
    else:
        return None
    return SharePartitionKey(stored.group_id, stored.topic_id, stored.partition), decoded
