"""Compacts one batch. No I/O: bytes in, bytes out.

The latest record per key is retained. Tombstones are retained until the delete horizon that was set in their batch when
it was first compacted (KIP-534). Records without a key are always dropped. Offsets never change: a batch that loses
records keeps its base offset and last offset delta, so that its producer's last sequence stays readable. If no record
survives, the batch is dropped, unless it is the last batch of an active producer or of the compacted range; then it is
kept as an empty batch. Retained records are copied in their encoded form, not decoded.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from penstock.protocol.compression import DECOMPRESSED_BYTES_MAX, compress
from penstock.protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    crc_is_valid,
)
from penstock.protocol.records.builder import assemble_batch, encode_varint
from penstock.protocol.records.control import ControlType, control_type
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records, read_varint, read_varlong, records_of
from penstock.storage.compaction.keys import KeyOffsets
from penstock.storage.compaction.transactions import CleanedTransactions


class LastRecord(msgspec.Struct, frozen=True, gc=False):
    """An active producer's last record: its last data offset (-1 if only a marker is left) and its epoch."""

    last_data_offset: int
    producer_epoch: int


class RawRecord(NamedTuple):
    """A record's location in its batch's uncompressed section, `data[begin:end]`, and the fields filtered on."""

    begin: int
    end: int
    rest: int
    """The position of the offset delta, after the timestamp."""
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    has_value: bool


def split_records(data: bytes, count: int) -> Iterator[RawRecord]:
    """The records of an uncompressed section, without decoding values and headers.

    Compaction spends most of its time here: varints of one byte, and of two where they are common, are read in
    place.
    """
    position = 0
    size_bytes = len(data)
    make = RawRecord._make
    try:
        for _ in range(count):
            begin = position
            length = data[position]
            if length < 0x80 and not length & 1:
                length >>= 1
                position += 1
            else:
                length, position = read_varint(data, position, size_bytes)
            end = position + length
            if length <= 0 or end > size_bytes:
                raise CorruptRecords(f"a record of {length} bytes does not fit in its batch")
            timestamp_delta, rest = read_varlong(data, position + 1, end)
            byte, high = data[rest], data[rest + 1]
            if byte < 0x80 and not byte & 1:
                offset_delta = byte >> 1
                position = rest + 1
            elif high < 0x80 and not byte & 1:
                offset_delta = (byte & 0x7F | high << 7) >> 1
                position = rest + 2
            else:
                offset_delta, position = read_varint(data, rest, end)
            key_size = data[position]
            if key_size < 0x80 and not key_size & 1:
                key_size >>= 1
                position += 1
            else:
                key_size, position = read_varint(data, position, end)
            key: bytes | None = None
            if key_size >= 0:
                key = data[position : position + key_size]
                position += key_size
            if position >= end:
                raise CorruptRecords("the fields of a record do not fit in it")
            # Zigzag: the lowest bit of the lowest byte is the sign, and a size below 0 means no value.
            yield make((begin, end, rest, timestamp_delta, offset_delta, key, not data[position] & 1))
            position = end
    except IndexError:
        raise CorruptRecords("a record runs beyond the end of its batch") from None
    if position != size_bytes:
        raise CorruptRecords(f"{size_bytes - position} bytes after the last of {count} records")


def fill_keys(keys: KeyOffsets, buf: Buffer, pos: int, header: BatchHeader, first_dirty_offset: int) -> None:
    """Record the offsets of a committed data batch's keys."""
    section = records_of(buf, pos, header, DECOMPRESSED_BYTES_MAX)
    base_offset = header.base_offset
    for record in split_records(section, header.record_count):
        offset = base_offset + record.offset_delta
        if record.key is not None and offset >= first_dirty_offset:
            keys.put(record.key, offset)


def marker_kind(buf: Buffer, pos: int) -> ControlType | None:
    """The type of the first record of a control batch; None when compaction has emptied it."""
    for record in iter_records(buf, pos=pos):
        return control_type(record.key)
    return None


class BatchFilter:
    __slots__ = (
        "_delete_retention_ms",
        "_end_offset",
        "_keys",
        "_last_records",
        "_now_ms",
        "_transactions",
        "keyless_count",
        "records_kept",
        "records_read",
    )

    def __init__(
        self,
        *,
        keys: KeyOffsets,
        transactions: CleanedTransactions,
        last_records: Mapping[int, LastRecord],
        end_offset: int,
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        """`end_offset` is the first uncleanable offset: the batch before it is kept, if only as an empty batch."""
        self._keys = keys
        self._transactions = transactions
        self._last_records = last_records
        self._end_offset = end_offset
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self.records_read = 0
        self.records_kept = 0
        self.keyless_count = 0

    def apply(self, buf: Buffer, pos: int, header: BatchHeader) -> Buffer | None:
        """The bytes to write in place of the whole batch at `pos`; None if the batch is dropped.

        A batch with a bad CRC raises: rewriting it would give damaged records a valid checksum.
        """
        size = header.size_bytes
        if not crc_is_valid(buf, pos, size):
            raise CorruptRecords(f"the batch at offset {header.base_offset} does not match its CRC")
        original = memoryview(buf)[pos : pos + size]
        self.records_read += header.record_count
        kept = self._filter(original, header)
        return original if kept is not None and header.record_count == 0 else kept

    def _filter(self, original: memoryview, header: BatchHeader) -> Buffer | None:
        if header.is_control:
            return self._filter_control(original, header)
        if self._transactions.is_aborted_data(header):
            return self._emptied(header)
        if header.base_offset > self._keys.latest_offset:
            self.records_kept += header.record_count
            return original
        return self._filter_data(original, header)

    def _filter_control(self, original: memoryview, header: BatchHeader) -> Buffer | None:
        can_drop = self._transactions.can_drop_marker(header, marker_kind(original, 0))
        horizon_ms = header.delete_horizon_ms
        if header.record_count == 0 or (can_drop and horizon_ms is not None and horizon_ms <= self._now_ms):
            return self._emptied(header)
        self.records_kept += header.record_count
        if not can_drop or horizon_ms is not None:
            return original
        section = records_of(original, 0, header, DECOMPRESSED_BYTES_MAX)
        records = list(split_records(section, header.record_count))
        return self._rebuilt(header, section, records, sets_horizon=True)

    def _filter_data(self, original: memoryview, header: BatchHeader) -> Buffer | None:
        section = records_of(original, 0, header, DECOMPRESSED_BYTES_MAX)
        horizon_ms = header.delete_horizon_ms
        keeps_tombstones = horizon_ms is None or self._now_ms < horizon_ms
        kept: list[RawRecord] = []
        has_tombstones = False
        for record in split_records(section, header.record_count):
            if self._stays(record, header.base_offset + record.offset_delta, keeps_tombstones):
                kept.append(record)
                has_tombstones = has_tombstones or not record.has_value
        if not kept:
            return self._emptied(header)
        self.records_kept += len(kept)
        sets_horizon = has_tombstones and horizon_ms is None
        if len(kept) == header.record_count and not sets_horizon:
            return original
        return self._rebuilt(header, section, kept, sets_horizon=sets_horizon)

    def _stays(self, record: RawRecord, offset: int, keeps_tombstones: bool) -> bool:
        if offset > self._keys.latest_offset:
            return True
        if record.key is None:
            self.keyless_count += 1
            return False
        return offset >= self._keys.newest(record.key) and (record.has_value or keeps_tombstones)

    def _emptied(self, header: BatchHeader) -> bytes | None:
        """An empty batch if its offsets or sequences are still needed, else None."""
        if header.next_offset != self._end_offset and not self._is_last_of_producer(header):
            return None
        return _assemble(
            header,
            b"",
            attributes=header.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG),
            base_timestamp=NO_TIMESTAMP,
            max_timestamp=header.max_timestamp,
            record_count=0,
        )

    def _is_last_of_producer(self, header: BatchHeader) -> bool:
        if not header.has_producer_id:
            return False
        last = self._last_records.get(header.producer_id)
        if last is None:
            return False
        if last.last_data_offset >= 0:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.producer_epoch

    def _rebuilt(
        self, header: BatchHeader, section: bytes, records: list[RawRecord], *, sets_horizon: bool
    ) -> bytes:
        if sets_horizon:
            base_timestamp = self._now_ms + self._delete_retention_ms
            shift = header.base_timestamp - base_timestamp
            content = b"".join(_with_timestamp(section, r, r.timestamp_delta + shift) for r in records)
            attributes = header.attributes | DELETE_HORIZON_FLAG
        else:
            base_timestamp = header.base_timestamp
            content = b"".join(section[r.begin : r.end] for r in records)
            attributes = header.attributes
        max_timestamp = header.max_timestamp
        if not header.is_log_append_time:
            max_timestamp = header.base_timestamp + max(r.timestamp_delta for r in records)
        return _assemble(
            header,
            compress(header.codec, content) if header.is_compressed else content,
            attributes=attributes,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            record_count=len(records),
        )


def _with_timestamp(section: bytes, record: RawRecord, timestamp_delta: int) -> bytes:
    body = b"\x00" + encode_varint(timestamp_delta) + section[record.rest : record.end]
    return encode_varint(len(body)) + body


def _assemble(
    header: BatchHeader,
    content: bytes,
    *,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    record_count: int,
) -> bytes:
    return assemble_batch(
        content,
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=record_count,
    )
