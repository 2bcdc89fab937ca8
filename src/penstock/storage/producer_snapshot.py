"""`<20 digits>.snapshot`: a partition's producers as of that offset, in Kafka's own format, version 1.

    0  version i16 = 1
    2  CRC-32C u32 of everything after it
    6  number of entries i32
   10  entries of 46 bytes each:
        0 producer id i64
        8 producer epoch i16
       10 last sequence i32                    -1 when no batch is known
       14 last offset i64                      -1 when no batch is known
       22 offset delta of the last batch i32
       26 last timestamp i64
       34 coordinator epoch i32                -1 for none
       38 first offset of the open transaction i64, -1 for none

All big-endian. Only the last batch of each producer is kept, so retries of older ones are not recognised after a
restart unless the log is replayed over them, which it is from the snapshot's offset on.
"""

import struct
from collections.abc import Sequence

from penstock.protocol.records.crc import crc32c
from penstock.storage.producer_state import ProducerEntry, StoredBatch

VERSION = 1

_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_END = 6


class CorruptSnapshot(Exception):
    """The file is not a producer snapshot that can be read; an older one, and the log, serve instead."""


def encode_snapshot(entries: Sequence[ProducerEntry]) -> bytes:
    """The content of the file."""
    content = bytearray(_HEAD.size + _ENTRY.size * len(entries))
    position = _HEAD.size
    for entry in entries:
        first_offset = entry.transaction_first_offset
        _ENTRY.pack_into(
            content,
            position,
            entry.producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            -1 if first_offset is None else first_offset,
        )
        position += _ENTRY.size
    _HEAD.pack_into(content, 0, VERSION, 0, len(entries))
    _HEAD.pack_into(content, 0, VERSION, crc32c(memoryview(content)[_CRC_END:]), len(entries))
    return bytes(content)


def decode_snapshot(content: bytes) -> list[ProducerEntry]:
    """The producers in a file's content; raises `CorruptSnapshot` when it is damaged or of another version."""
    if len(content) < _HEAD.size:
        raise CorruptSnapshot(f"{len(content)} bytes are too few")
    version, crc, count = _HEAD.unpack_from(content)
    if version != VERSION:
        raise CorruptSnapshot(f"version {version} is not known")
    if crc != crc32c(memoryview(content)[_CRC_END:]):
        raise CorruptSnapshot("the CRC does not match")
    if count < 0 or _HEAD.size + count * _ENTRY.size != len(content):
        raise CorruptSnapshot(f"{count} entries do not fill {len(content)} bytes")
    return [_decode_entry(content, _HEAD.size + index * _ENTRY.size) for index in range(count)]


def _decode_entry(content: bytes, position: int) -> ProducerEntry:
    (
        producer_id,
        producer_epoch,
        last_sequence,
        last_offset,
        offset_delta,
        timestamp,
        coordinator_epoch,
        first_offset,
    ) = _ENTRY.unpack_from(content, position)
    batches = (StoredBatch(last_sequence, last_offset, offset_delta, timestamp),) if last_offset >= 0 else ()
    return ProducerEntry(
        producer_id,
        producer_epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp=timestamp,
        transaction_first_offset=first_offset if first_offset >= 0 else None,
        batches=batches,
    )
