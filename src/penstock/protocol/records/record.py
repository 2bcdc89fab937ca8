"""Single records inside a batch of magic 2.

    length          varint   bytes that follow
    attributes      i8       unused
    timestamp delta varlong  to the batch's base timestamp
    offset delta    varint   to the batch's base offset
    key             varint length, bytes; -1 for null
    value           varint length, bytes; -1 for null
    headers         varint count, then each: varint length, key bytes; varint length, value bytes, -1 for null

All varints are zigzag. Every length is checked against the record it stands in, and the record against the batch.
"""

from collections.abc import Iterator

import msgspec

from penstock.protocol.compression import DECOMPRESSED_BYTES_MAX, decompress
from penstock.protocol.records.batch import HEADER_SIZE, MAGIC, BatchHeader, Buffer, parse_header
from penstock.protocol.records.errors import CorruptRecords

VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10

_INT32_MASK = 2**32 - 1
_INT64_MASK = 2**64 - 1
_INT64_SIGN = 2**63
_INT64_MIN = -(2**63)
_INT64_MAX = 2**63 - 1


class Record(msgspec.Struct, frozen=True):
    """One record with its absolute offset and timestamp."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def decode_records(
    batch: Buffer, *, pos: int = 0, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> list[Record]:
    """Every record of the batch at `pos`. The CRC is the caller's to check."""
    return list(iter_records(batch, pos=pos, decompressed_bytes_max=decompressed_bytes_max))


def iter_records(
    batch: Buffer, *, pos: int = 0, decompressed_bytes_max: int = DECOMPRESSED_BYTES_MAX
) -> Iterator[Record]:
    """The records of the batch at `pos`, one by one; raises `CorruptRecords` at the first that is malformed."""
    header = parse_header(batch, pos)
    data = records_of(batch, pos, header, decompressed_bytes_max)
    count = header.record_count
    if count < 0:
        raise CorruptRecords(f"a batch of {count} records")
    append_timestamp = header.max_timestamp if header.is_log_append_time else None
    try:
        yield from _decode_section(data, count, header.base_offset, header.base_timestamp, append_timestamp)
    except IndexError:
        raise CorruptRecords("a record runs beyond the end of its batch") from None


def records_of(batch: Buffer, pos: int, header: BatchHeader, decompressed_bytes_max: int) -> bytes:
    """The uncompressed records section of the batch at `pos`."""
    if header.magic != MAGIC:
        raise CorruptRecords(f"magic {header.magic}: only version 2 batches are read")
    size = header.size_bytes
    if size < HEADER_SIZE or size > len(batch) - pos:
        raise CorruptRecords(f"a batch of {size} bytes does not fit in {len(batch) - pos}")
    section = memoryview(batch)[pos + HEADER_SIZE : pos + size]
    if header.is_compressed:
        return decompress(header.codec, section, decompressed_bytes_max)
    return bytes(section)


def _decode_section(
    data: bytes, count: int, base_offset: int, base_timestamp: int, append_timestamp: int | None
) -> Iterator[Record]:
    """All records of an uncompressed section. One-byte varints, nearly all there are, are decoded inline.

    Fields are not compared with the end of their record one by one: positions only grow, so it is enough that the
    last field ends where the record does. A read beyond the data is an IndexError.
    """
    position = 0
    for index in range(count):
        size = data[position]
        position += 1
        if size >= 0x80:
            size, position = _read_unsigned(data, position - 1, len(data), VARINT_BYTES_MAX)
        end = position + (size >> 1)
        if size & 1 or end > len(data):
            raise CorruptRecords(f"record {index} does not fit in its batch")

        delta = data[position + 1]
        position += 2
        if delta >= 0x80:
            delta, position = _read_unsigned(data, position - 1, end, VARLONG_BYTES_MAX)
        if append_timestamp is None:
            timestamp = base_timestamp + ((delta >> 1) ^ -(delta & 1))
            if not _INT64_MIN <= timestamp <= _INT64_MAX:
                timestamp = wrap_int64(timestamp)
        else:
            timestamp = append_timestamp

        offset = data[position]
        position += 1
        if offset >= 0x80:
            offset, position = _read_unsigned(data, position - 1, end, VARINT_BYTES_MAX)

        size = data[position]
        position += 1
        if size >= 0x80:
            size, position = _read_unsigned(data, position - 1, end, VARINT_BYTES_MAX)
        key: bytes | None = None
        if not size & 1:
            key = data[position : position + (size >> 1)]
            position += size >> 1

        size = data[position]
        position += 1
        if size >= 0x80:
            size, position = _read_unsigned(data, position - 1, end, VARINT_BYTES_MAX)
        value: bytes | None = None
        if not size & 1:
            value = data[position : position + (size >> 1)]
            position += size >> 1

        headers: tuple[tuple[str, bytes | None], ...] = ()
        if data[position]:
            headers, position = _read_headers(data, position, end)
        else:
            position += 1
        if position != end:
            raise CorruptRecords(f"record {index} does not end where its size says")
        yield Record(base_offset + ((offset >> 1) ^ -(offset & 1)), timestamp, key, value, headers)
    if position != len(data):
        raise CorruptRecords(f"{len(data) - position} bytes after the last of {count} records")


def _read_headers(data: bytes, position: int, end: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    count, position = read_varint(data, position, end)
    if count < 0 or count > end - position:
        raise CorruptRecords(f"{count} headers in {end - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        key, position = _read_bytes(data, position, end)
        if key is None:
            raise CorruptRecords("a header without a key")
        value, position = _read_bytes(data, position, end)
        # Java replaces invalid UTF-8 in a header key instead of refusing the record.
        headers.append((key.decode("utf-8", "replace"), value))
    return tuple(headers), position


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = read_varint(data, position, end)
    if size < 0:
        return None, position
    if size > end - position:
        raise CorruptRecords(f"a field of {size} bytes does not fit in its record")
    return data[position : position + size], position + size


def read_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most 32 bits, and the position after it."""
    value, position = _read_unsigned(data, position, end, VARINT_BYTES_MAX)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(data: bytes, position: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most 64 bits, and the position after it."""
    value, position = _read_unsigned(data, position, end, VARLONG_BYTES_MAX)
    return (value >> 1) ^ -(value & 1), position


def _read_unsigned(data: bytes, position: int, end: int, bytes_max: int) -> tuple[int, int]:
    """A varint before zigzag decoding; bits above 32 or 64 are dropped, as in Java."""
    if position + 1 < end:  # the most common sizes
        low = data[position]
        if low < 0x80:
            return low, position + 1
        high = data[position + 1]
        if high < 0x80:
            return low + (high << 7) - 0x80, position + 2
    value = 0
    shift = 0
    stop = min(end, position + bytes_max)
    while position < stop:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (_INT32_MASK if bytes_max == VARINT_BYTES_MAX else _INT64_MASK), position
        shift += 7
    raise CorruptRecords("a varint is too long or runs beyond its record")


def wrap_int64(value: int) -> int:
    """The sum of two int64 as Java computes it, so that a malicious delta still gives an int64."""
    return ((value + _INT64_SIGN) & _INT64_MASK) - _INT64_SIGN
