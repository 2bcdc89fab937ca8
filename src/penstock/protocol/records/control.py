"""Control records, which brokers write to logs between the clients' records.

Key: version i16 = 0, type i16. Types: 0 abort, 1 commit, 2 leader change, 3 snapshot header, 4 snapshot footer,
5 KRaft version, 6 KRaft voters. The value of a transaction marker is version i16 = 0, coordinator epoch i32;
the others carry a flexible message of Kafka's schemas, encoded by the caller.
"""

import enum
import struct

import msgspec

from penstock.protocol.records.batch import NO_LEADER_EPOCH, NO_SEQUENCE
from penstock.protocol.records.builder import BatchBuilder
from penstock.protocol.records.errors import CorruptRecords

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")
_VERSION = 0


class ControlType(enum.IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1


_TYPES = {each.value: each for each in ControlType}


class EndTxnMarker(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one producer's transaction in one partition."""

    is_commit: bool
    coordinator_epoch: int


def control_type(key: bytes | None) -> ControlType:
    """Which control record a key announces; UNKNOWN for types of a later version, which readers skip."""
    if key is None or len(key) < _KEY.size:
        raise CorruptRecords("a control record with a key that is too short")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecords(f"a control record of version {version}")
    return _TYPES.get(number, ControlType.UNKNOWN)


def decode_end_txn_marker(key: bytes | None, value: bytes | None) -> EndTxnMarker | None:
    """The marker in a control record; None if it does not end a transaction."""
    kind = control_type(key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if value is None or len(value) < _MARKER.size:
        raise CorruptRecords("a transaction marker with a value that is too short")
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise CorruptRecords(f"a transaction marker of version {version}")
    return EndTxnMarker(is_commit=kind is ControlType.COMMIT, coordinator_epoch=coordinator_epoch)


def build_end_txn_batch(
    marker: EndTxnMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The batch of one marker that a transaction coordinator has written to each partition of a transaction."""
    kind = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
    builder = BatchBuilder(base_offset)
    builder.append(
        _KEY.pack(_VERSION, kind), _MARKER.pack(_VERSION, marker.coordinator_epoch), timestamp=timestamp
    )
    return builder.build(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=NO_SEQUENCE,
        is_transactional=True,
        is_control=True,
        leader_epoch=leader_epoch,
    )


def build_control_batch(
    kind: ControlType, value: bytes, *, timestamp: int, base_offset: int, leader_epoch: int
) -> bytes:
    """A batch of one other control record, as the metadata quorum writes (a leader change opens each epoch).

    `value` is the encoded message: LeaderChangeMessage, SnapshotHeaderRecord and so on.
    """
    builder = BatchBuilder(base_offset)
    builder.append(_KEY.pack(_VERSION, kind), value, timestamp=timestamp)
    return builder.build(is_control=True, leader_epoch=leader_epoch)
