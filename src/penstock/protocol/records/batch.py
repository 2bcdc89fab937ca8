"""Record batches of magic 2, on the wire and on disk: headers, checksums, changes in place.

A batch is a header of 61 bytes, big-endian, and then the records, compressed as a whole when the codec says so:

    0  base offset            i64   assigned by the leader; not covered by the CRC
    8  batch length           i32   bytes after this field
   12  partition leader epoch i32   assigned by the leader; not covered by the CRC
   16  magic                  i8    2
   17  CRC-32C                u32   of everything from the attributes to the end
   21  attributes             i16   bits 0-2 codec, 3 log append time, 4 transactional, 5 control, 6 delete horizon
   23  last offset delta      i32
   27  base timestamp         i64   milliseconds; the delete horizon when bit 6 is set
   35  max timestamp          i64
   43  producer id            i64   -1 for none
   51  producer epoch         i16
   53  base sequence          i32
   57  record count           i32
   61  records
"""

import struct
from collections.abc import Iterator

import msgspec

from penstock.protocol.compression import Codec
from penstock.protocol.records.crc import crc32c
from penstock.protocol.records.errors import CorruptRecords

Buffer = bytes | bytearray | memoryview

HEADER_SIZE = 61
LOG_OVERHEAD = 12
MAGIC = 2

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
MAX_TIMESTAMP_POSITION = 35

HEADER = struct.Struct(">qiibIhiqqqhii")
PLACE = struct.Struct(">qii")
"""Base offset, batch length, leader epoch."""
_LENGTH = struct.Struct(">i")
_BASE_OFFSET = struct.Struct(">q")
_LEADER_EPOCH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_MAX_TIMESTAMP = struct.Struct(">q")

_INT32_MAX = 2**31 - 1
_CODECS = tuple(Codec)


def advance_sequence(sequence: int, increment: int) -> int:
    """Sequences are int32 and start over at 0 after 2^31-1."""
    return (sequence + increment) & _INT32_MAX


class BatchHeader(msgspec.Struct, frozen=True, gc=False):
    """The 13 header fields in wire order. Positional, because one is made for every batch that passes through."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        number = self.attributes & CODEC_MASK
        if number >= len(_CODECS):
            raise CorruptRecords(f"a batch names codec {number}, which does not exist")
        return _CODECS[number]

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_FLAG != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones in this batch may be removed (KIP-534); stored as the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return advance_sequence(self.base_sequence, self.last_offset_delta)


def parse_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The header at `pos`. Checks only that 61 bytes are there: magic, lengths and CRC are the caller's."""
    if len(buf) - pos < HEADER_SIZE:
        raise CorruptRecords(f"{len(buf) - pos} bytes are too few for a batch header")
    return BatchHeader(*HEADER.unpack_from(buf, pos))


def iter_batches(buf: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Positions and headers of the whole batches in `buf`; ends before a partial last one. An impossible length or
    another magic raises `CorruptRecords`. CRCs are not checked.
    """
    pos = 0
    end = len(buf)
    while end - pos >= HEADER_SIZE:
        header = BatchHeader(*HEADER.unpack_from(buf, pos))
        _check_shape(header, pos)
        size = LOG_OVERHEAD + header.batch_length
        if size > end - pos:
            return
        yield pos, header
        pos += size


def iter_batches_strict(buf: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Like `iter_batches`, but the batches must fill `buf` exactly."""
    end = 0
    for pos, header in iter_batches(buf):
        yield pos, header
        end = pos + header.size_bytes
    if end != len(buf):
        raise CorruptRecords(f"{len(buf) - end} bytes after the last whole batch")


def _check_shape(header: BatchHeader, pos: int) -> None:
    if header.magic != MAGIC:
        raise CorruptRecords(f"magic {header.magic} at byte {pos}: only version 2 batches are stored")
    if header.batch_length < HEADER_SIZE - LOG_OVERHEAD:
        raise CorruptRecords(f"batch length {header.batch_length} at byte {pos} is shorter than a header")


def compute_crc(buf: Buffer, pos: int, size: int) -> int:
    """CRC-32C over the part of the batch at `pos` that it covers."""
    crc: int = crc32c(memoryview(buf)[pos + ATTRIBUTES_POSITION : pos + size])
    return crc


def crc_is_valid(buf: Buffer, pos: int, size: int) -> bool:
    """Whether the stored CRC of the batch of `size` bytes at `pos` is that of its content."""
    if size < HEADER_SIZE or len(buf) - pos < size:
        return False
    stored: int = _CRC.unpack_from(buf, pos + CRC_POSITION)[0]
    return stored == compute_crc(buf, pos, size)


def set_base_offset_and_epoch(
    buf: bytearray | memoryview, pos: int, base_offset: int, leader_epoch: int
) -> None:
    """Set the fields that the leader assigns. The CRC does not cover them and stays valid."""
    _BASE_OFFSET.pack_into(buf, pos, base_offset)
    _LEADER_EPOCH.pack_into(buf, pos + LOG_OVERHEAD, leader_epoch)


def set_max_timestamp(
    buf: bytearray | memoryview, pos: int, *, is_log_append_time: bool, max_timestamp: int
) -> None:
    """Set timestamp type and max timestamp, and the CRC to match."""
    (attributes,) = _ATTRIBUTES.unpack_from(buf, pos + ATTRIBUTES_POSITION)
    if is_log_append_time:
        attributes |= LOG_APPEND_TIME_FLAG
    else:
        attributes &= ~LOG_APPEND_TIME_FLAG
    _ATTRIBUTES.pack_into(buf, pos + ATTRIBUTES_POSITION, attributes)
    _MAX_TIMESTAMP.pack_into(buf, pos + MAX_TIMESTAMP_POSITION, max_timestamp)
    (length,) = _LENGTH.unpack_from(buf, pos + 8)
    _CRC.pack_into(buf, pos + CRC_POSITION, compute_crc(buf, pos, LOG_OVERHEAD + length))
