"""Records of `__share_group_state` in Kafka's own form.

    key    i16 record type, then group id, topic id and partition, version 0
    value  i16 version, then the value's message, version 0; null under a snapshot's key forgets the share partition

Types: 0 a snapshot, which says all there is to know of a share partition; 1 an update, which is laid over what the
last snapshot and the updates behind it say.
"""

import struct
from collections.abc import Iterable
from typing import Protocol

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import share_snapshot_record, share_update_record
from penstock.protocol.messages.share_snapshot_record import ShareSnapshotKey, ShareSnapshotValue
from penstock.protocol.messages.share_update_record import ShareUpdateKey, ShareUpdateValue
from penstock.protocol.records.builder import NewRecord
from penstock.share.values import RecordState, SharePartitionKey, StateBatch

_VERSION = struct.Struct(">h")
_SNAPSHOT_TYPE = _VERSION.pack(share_snapshot_record.RECORD_TYPE)
_UPDATE_TYPE = _VERSION.pack(share_update_record.RECORD_TYPE)
_VALUE_VERSION = _VERSION.pack(0)

Value = ShareSnapshotValue | ShareUpdateValue | None


class _MessageBatch(Protocol):
    """A state batch of any message."""

    @property
    def first_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def delivery_state(self) -> int: ...
    @property
    def delivery_count(self) -> int: ...


def state_batches(batches: Iterable[_MessageBatch]) -> list[StateBatch]:
    """Raises `ProtocolError` for a batch that no share partition can have."""
    read = []
    for each in batches:
        try:
            state = RecordState(each.delivery_state)
        except ValueError:
            raise ProtocolError(f"{each.delivery_state} is no state that a record can have") from None
        if each.first_offset > each.last_offset:
            raise ProtocolError(f"a batch from {each.first_offset} to {each.last_offset} has no records")
        read.append(StateBatch(each.first_offset, each.last_offset, state, each.delivery_count))
    return read


def encode(key: SharePartitionKey, value: Value, now_ms: int) -> NewRecord:
    """The record of a snapshot or an update; of None, the one that forgets the share partition."""
    if isinstance(value, ShareUpdateValue):
        update_key = ShareUpdateKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
        return NewRecord(
            _UPDATE_TYPE + share_update_record.encode_key(update_key, 0),
            _VALUE_VERSION + share_update_record.encode_value(value, 0),
            (),
            now_ms,
        )
    snapshot_key = ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)
    return NewRecord(
        _SNAPSHOT_TYPE + share_snapshot_record.encode_key(snapshot_key, 0),
        None if value is None else _VALUE_VERSION + share_snapshot_record.encode_value(value, 0),
        (),
        now_ms,
    )


def decode(key: bytes, value: bytes | None) -> tuple[SharePartitionKey, Value] | None:
    """None for what is not known here. Raises `ProtocolError` when a record is malformed."""
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
