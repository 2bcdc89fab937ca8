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

All big-endian. Kafka writes one entry for each producer, with its last batch. After a restart it does not recognise a
retry of an earlier batch and refuses it as out of order, although it is stored. A producer with several batches in
flight then fails, or bumps its epoch and stores them twice. Here a producer has an entry for each batch that is
remembered, oldest first; its open transaction is in the last one. Of several entries of one producer Kafka keeps the
last, so it can read these files as well as its own.
"""

import struct
from collections.abc import Sequence

from penstock.protocol.records.batch import NO_SEQUENCE, NO_TIMESTAMP
from penstock.protocol.records.crc import crc32c
from penstock.storage.producers.state import ProducerEntry, StoredBatch

VERSION = 1

_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_END = 6
_NO_OFFSET = -1
_NO_BATCH = StoredBatch(NO_SEQUENCE, _NO_OFFSET, 0, NO_TIMESTAMP)


class CorruptSnapshot(Exception):
    """The file is not a producer snapshot that can be read; an older snapshot and the log are used instead."""


def encode_snapshot(entries: Sequence[ProducerEntry]) -> bytes:
    """The content of the file."""
    packed = [each for entry in entries for each in _pack(entry)]
    head = bytearray(_HEAD.pack(VERSION, 0, len(packed)))
    content = b"".join((head, *packed))
    _HEAD.pack_into(head, 0, VERSION, crc32c(memoryview(content)[_CRC_END:]), len(packed))
    return bytes(head) + content[_HEAD.size :]


def _pack(entry: ProducerEntry) -> list[bytes]:
    """One producer's entries in the file."""
    producer_id, epoch, coordinator_epoch = entry.producer_id, entry.producer_epoch, entry.coordinator_epoch
    *older, last = entry.batches or [_NO_BATCH]
    first_offset = entry.transaction_first_offset
    packed = [_ENTRY.pack(producer_id, epoch, *batch, coordinator_epoch, _NO_OFFSET) for batch in older]
    packed.append(
        _ENTRY.pack(
            producer_id,
            epoch,
            last.last_sequence,
            last.last_offset,
            last.offset_delta,
            entry.last_timestamp,
            coordinator_epoch,
            _NO_OFFSET if first_offset is None else first_offset,
        )
    )
    return packed


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
    producers: dict[int, ProducerEntry] = {}
    for (
        producer_id,
        epoch,
        sequence,
        offset,
        delta,
        timestamp,
        coordinator_epoch,
        first_offset,
    ) in _ENTRY.iter_unpack(memoryview(content)[_HEAD.size :]):
        entry = producers.get(producer_id)
        if entry is None or entry.producer_epoch != epoch:
            entry = producers[producer_id] = ProducerEntry(producer_id, epoch)
        if offset >= 0:
            entry.add(StoredBatch(sequence, offset, delta, timestamp))
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = first_offset if first_offset >= 0 else None
    return list(producers.values())
