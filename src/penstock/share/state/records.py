"""Records of `__share_group_state`, framed as `protocol.coordinator_records` describes.

Types: 0 a snapshot, with the whole state of a share partition; 1 an update, which is merged into the last snapshot and
the updates after it. The tombstone has the key of a snapshot.
"""

from collections.abc import Iterable
from typing import Any

from penstock.protocol.coordinator_records import RecordCodec, number_at_start
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import share_snapshot_record, share_update_record
from penstock.protocol.messages.share_snapshot_record import ShareSnapshotKey, ShareSnapshotValue
from penstock.protocol.messages.share_update_record import ShareUpdateKey, ShareUpdateValue
from penstock.protocol.records.builder import NewRecord
from penstock.share.state.values import RecordState, SharePartitionKey, StateBatch

_CODEC = RecordCodec([share_snapshot_record, share_update_record])

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
    key_type = ShareUpdateKey if isinstance(value, ShareUpdateValue) else ShareSnapshotKey
    return _CODEC.encode((key_type(**key._asdict()), value), now_ms)


def decode(key: bytes, value: bytes | None) -> tuple[SharePartitionKey, Value] | None:
    """Return None for unknown types and versions. Raises `ProtocolError` when a record is malformed."""
    if value is not None and number_at_start(value) not in share_snapshot_record.VALUE_VERSIONS:
        return None
    record = _CODEC.decode(key, value)
    if record is None or (value is None and isinstance(record[0], ShareUpdateKey)):
        return None
    stored, decoded = record
    return SharePartitionKey(stored.group_id, stored.topic_id, stored.partition), decoded
